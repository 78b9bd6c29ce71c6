"""Scores of translations by sacrebleu and of entities by seqeval."""

from keraszoo.evaluation.by_length import LengthBucket, bleu_by_length
from keraszoo.evaluation.calibration import ReliabilityBin, expected_calibration_error, reliability
from keraszoo.evaluation.tagging import SpanScore, TaggingScores, known_entities, score_tags
from keraszoo.evaluation.tokenizers import TOKENIZERS
from keraszoo.evaluation.translation import Score, TranslationScores, score_translations

__all__ = [
    "TOKENIZERS",
    "LengthBucket",
    "ReliabilityBin",
    "Score",
    "SpanScore",
    "TaggingScores",
    "TranslationScores",
    "bleu_by_length",
    "expected_calibration_error",
    "known_entities",
    "reliability",
    "score_tags",
    "score_translations",
]

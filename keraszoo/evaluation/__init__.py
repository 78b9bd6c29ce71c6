"""Scores of translations by sacrebleu and of entities by seqeval."""

from keraszoo.evaluation.by_length import LengthBucket, bleu_by_length
from keraszoo.evaluation.tagging import SpanScore, TaggingScores, known_entities, score_tags
from keraszoo.evaluation.translation import Score, TranslationScores, score_translations

__all__ = [
    "LengthBucket",
    "Score",
    "SpanScore",
    "TaggingScores",
    "TranslationScores",
    "bleu_by_length",
    "known_entities",
    "score_tags",
    "score_translations",
]

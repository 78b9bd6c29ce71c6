"""Scores: sacrebleu, called right."""

from keraszoo.evaluation.translation import Score, TranslationScores, score_translations

__all__ = ["Score", "TranslationScores", "score_translations"]

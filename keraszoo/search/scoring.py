"""What hypotheses are ranked by."""

from keras import ops


def length_penalty(length, options):
    """What a log-probability is divided by: length^a, or ((5 + length) / 6)^a (Wu et al. 2016, eq. 14)."""
    length = ops.cast(ops.maximum(length, 1), "float32")
    base = length if options.normalization == "length" else (5.0 + length) / 6.0
    return base**options.length_penalty


def score_of(log_prob, length, options, attention_weights=None, memory_mask=None):
    """The score of hypotheses, by the equation of `SearchOptions`.

    Args:
        log_prob: `(...)`.
        length: int `(...)`, or a scalar for all.
        options: `SearchOptions`: `length_penalty`, `normalization` and `coverage_penalty` are used.
        attention_weights: `(..., L, S)`, zero beyond the length; needed for a coverage penalty alone.
        memory_mask: bool, broadcastable to `(..., S)`: words of the source; `None`: all are.

    Returns:
        `(...)`.
    """
    score = log_prob / length_penalty(length, options)
    if options.coverage_penalty:
        covered = ops.log(ops.clip(ops.sum(attention_weights, axis=-2), 1e-6, 1.0))  # (..., S)
        covered = covered if memory_mask is None else ops.where(memory_mask, covered, 0.0)
        score = score + options.coverage_penalty * ops.sum(covered, axis=-1)
    return score

"""The one place where scores become attention weights, and where masks are made."""

from keras import ops

from keraszoo.layers.precision import at_least_float32


def masked_softmax(scores, mask=None):
    """Softmax over the last axis that gives a masked position a weight of exactly zero.

        weights_j = exp(scores_j) [mask_j] / sum_k exp(scores_k) [mask_k]

    A row in which everything is masked gives weights of zero, not NaN and not a uniform attention to padding
    (Keras' own layers disagree among themselves here). Half-precision scores are normalised in float32.

    Args:
        scores: `(..., S)`, floating point.
        mask: bool, broadcastable to `scores`, `True` = keep; `None` keeps all.

    Returns:
        Attention weights of the shape and dtype of `scores`, in [0, 1]; a row sums to 1, or to 0 if it is all
        masked.

    Example:

    >>> weights = masked_softmax(ops.zeros((1, 4)), ops.array([[True, True, False, False]]))
    >>> ops.convert_to_numpy(weights).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    dtype = scores.dtype
    scores = ops.cast(scores, at_least_float32(dtype))
    if mask is None:
        return ops.cast(_softmax(scores), dtype)
    mask = ops.cast(mask, "bool")
    weights = _softmax(ops.where(mask, scores, -1e9))
    return ops.cast(ops.where(mask, weights, 0.0), dtype)


def _softmax(scores):
    """A source of one word has one score, of which Keras' softmax would warn."""
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores, axis=-1)


def causal_mask(length, memory_length=None):
    """The lower triangle: position t may look at positions up to t.

    Args:
        length: T, how many positions look, an integer or a scalar tensor.
        memory_length: S, how many are looked at, both counted from the first; `None`: T.

    Returns:
        bool `(1, T, S)`, `True` = keep.
    """
    positions = ops.arange(length)
    seen = positions if memory_length is None else ops.arange(memory_length)
    return (positions[:, None] >= seen[None, :])[None]


def combine_masks(*masks):
    """The conjunction of masks, each `(B, S)` for all queries alike or `(B, T, S)`; `None` masks nothing.

    Returns:
        bool `(B, T or 1, S)`, or `None` if every mask is `None`.
    """
    combined = None
    for mask in masks:
        if mask is None:
            continue
        mask = ops.cast(mask, "bool")
        mask = mask[:, None, :] if len(mask.shape) == 2 else mask  # (B, T or 1, S)
        combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined

"""From rows of token ids to what a translation model is trained on: here alone teacher forcing is made."""

import numpy as np


def teacher_forced(sources, targets, source_special, target_special, shape):
    """Pads one batch and shifts the target by one.

    A target `y_1 ... y_n` is read as `<s> y_1 ... y_n` and predicted as `y_1 ... y_n </s>`; the source is
    read as `x_1 ... x_m </s>`. The weight of each of the real target tokens, `</s>` among them, is one over
    their number in the whole batch: with a loss that sums, every token counts the same, however the rows are
    split over replicas.

    Shapes: B rows, S source and T target positions, n <= B sentences.

    Args:
        sources: flat ids and lengths (n,) of the source sentences, as `TokenRows.gather` returns them.
        targets: the same of the target sentences.
        source_special: the `SpecialIds` of the source side.
        target_special: those of the target side.
        shape: `(B, S, T)`; rows beyond the sentences are padding throughout.

    Returns:
        `((source, target_in), target_out, sample_weight)`: int32 (B, S), int32 (B, T), int32 (B, T) and
        float32 (B, T), the weights with sum 1 (0 where there is no sentence).

    Example:

    >>> from keraszoo.text.corpus import SpecialIds
    >>> special = SpecialIds(pad_id=0, start_id=2, end_id=3)
    >>> rows = np.array([7, 8, 9]), np.array([2, 1])
    >>> (source, target_in), target_out, weight = teacher_forced(rows, rows, special, special, (2, 3, 4))
    >>> source.tolist()
    [[7, 8, 3], [9, 3, 0]]
    >>> target_in.tolist()
    [[2, 7, 8, 0], [2, 9, 0, 0]]
    >>> target_out.tolist()
    [[7, 8, 3, 0], [9, 3, 0, 0]]
    >>> (1 / weight[weight > 0]).tolist()
    [5.0, 5.0, 5.0, 5.0, 5.0]
    """
    rows, source_length, target_length = shape
    count = len(targets[1])
    source = _padded(*sources, rows, source_length, source_special.pad_id)
    source[np.arange(count), sources[1]] = source_special.end_id
    target_out = _padded(*targets, rows, target_length, target_special.pad_id)
    # The same row one place to the right; the last token of the fullest row falls off, where </s> comes in
    # target_out.
    target_in = np.full_like(target_out, target_special.pad_id)
    target_in[:, 1:] = target_out[:, :-1]
    target_in[:count, 0] = target_special.start_id
    target_out[np.arange(count), targets[1]] = target_special.end_id
    weight = np.zeros((rows, target_length), "float32")
    weight[:count] = np.arange(target_length) <= np.asarray(targets[1])[:, None]
    return (source, target_in), target_out, weight / max(1, len(targets[0]) + count)


def _padded(ids, lengths, rows, length, pad_id):
    """The flat ids as int32 (rows, length), filled up with `pad_id`."""
    padded = np.full((rows, length), pad_id, "int32")
    real = np.arange(length) < np.asarray(lengths)[:, None]
    padded[: len(lengths)][real] = ids
    return padded

"""How likely a model finds given translations."""

import functools

import keras
import numpy as np
from keras import ops

from keraszoo.text.token_rows import TokenRows
from keraszoo.training.token_batches import teacher_forced


def log_probabilities(model, sources, targets, source_special, target_special, batch_size=64):
    """Natural log-probability of each target given its source, the sum over its tokens and `</s>`.

    Args:
        model: a `TranslationModel`.
        sources, targets: lists of lists of ids, without `<s>` and `</s>`.
        source_special, target_special: `SpecialIds` of the sides.
        batch_size: pairs scored at a time, those of like length together.

    Returns:
        List of float.
    """
    order = sorted(range(len(sources)), key=lambda i: (len(targets[i]), len(sources[i])))
    results = [0.0] * len(sources)
    for first in range(0, len(order), batch_size):
        indices = order[first : first + batch_size]
        sides = [TokenRows.from_lists([side[i] for i in indices]) for side in (sources, targets)]
        shape = (len(indices), *(int(max(side.lengths)) + 1 for side in sides))
        everything = np.arange(len(indices))
        gathered = (side.gather(everything) for side in sides)
        inputs, target_out, weight = teacher_forced(*gathered, source_special, target_special, shape)
        values = _token_scores(model)(*inputs, target_out, weight > 0)
        for i, value in zip(indices, ops.convert_to_numpy(values).tolist(), strict=True):
            results[i] = value
    return results


@functools.lru_cache(maxsize=8)
def _token_scores(model):
    def scores(source, target_in, target_out, mask):
        logits = ops.cast(model((source, target_in)), "float32")  # (B, T, V)
        chosen = ops.take_along_axis(logits, ops.cast(target_out, "int32")[..., None], axis=-1)[..., 0]
        values = chosen - ops.logsumexp(logits, axis=-1)  # (B, T)
        return ops.sum(ops.where(mask, values, 0.0), axis=-1)

    if keras.backend.backend() != "tensorflow":
        return scores
    import tensorflow as tf

    return tf.function(scores, reduce_retracing=True, autograph=False)

"""Forced decoding: log-probabilities, attention weights and next tokens of given translations."""

import numpy as np
from keras import ops

from keraszoo.compiling import compiled
from keraszoo.errors import check_at_least
from keraszoo.text.token_rows import TokenRows
from keraszoo.training.batch_plans import batches_of_rows
from keraszoo.training.token_batches import teacher_forced


class ForcedDecoding:
    """Runs a model over pairs of a source and a given target, in batches of similar length.

    Both are lists of ids without `<s>` and `</s>`; `special` and `source_special` are the `SpecialIds` of the
    two sides, and `batch_size` counts pairs. The methods do for ids what `score`, `align` and `next_tokens`
    of `Translator` do for texts.
    """

    def __init__(self, model, special, source_special):
        self.model = model
        self.specials = source_special, special
        self._scores = compiled(self._token_scores)
        self._weights = compiled(self._attention_weights)
        self._heads = compiled(lambda *inputs: self.model.attention_heads(inputs))
        self._next = compiled(self._next_tokens)

    def log_probabilities(self, sources, targets, batch_size=64):
        """Natural log-probability of each target given its source: the sum over its tokens and `</s>`."""
        results = [0.0] * len(sources)
        for indices, inputs, target_out, real in self._batches(sources, targets, batch_size):
            values = self._scores(*inputs, target_out, real)
            for i, value in zip(indices, ops.convert_to_numpy(values).tolist(), strict=True):
                results[i] = value
        return results

    def attention_weights(self, sources, targets, batch_size=64, heads=False):
        """Attention weights of each pair, float32 `(T, S)`, or `(L, H, T, S)` of all layers and heads."""
        results = [None] * len(sources)
        for indices, inputs, *_ in self._batches(sources, targets, batch_size):
            weights = ops.convert_to_numpy((self._heads if heads else self._weights)(*inputs))
            for i, rows in zip(indices, weights, strict=True):
                results[i] = rows[..., : len(targets[i]) + 1, : len(sources[i]) + 1].astype("float32")
        return results

    def next_tokens(self, sources, targets, count, batch_size=64):
        """For each target, T pairs of the ids and the probabilities of the `count` likeliest tokens."""
        check_at_least(count=(count, 1))
        count = int(count)
        results = [None] * len(sources)
        for indices, inputs, *_ in self._batches(sources, targets, batch_size):
            parts = [ops.convert_to_numpy(part).tolist() for part in self._next(*inputs, count)]
            for i, *rows in zip(indices, *parts, strict=True):
                results[i] = list(zip(*rows, strict=True))[: len(targets[i]) + 1]
        return results

    def _batches(self, sources, targets, batch_size):
        """Yields `(indices, (source, target_in), target_out, real)`; `real` `(B, T)` marks target tokens."""
        check_at_least(batch_size=(batch_size, 1))
        lengths = [(len(target), len(source)) for target, source in zip(targets, sources, strict=True)]
        for indices in batches_of_rows(lengths, batch_size):
            sides = [TokenRows.from_lists([side[i] for i in indices]) for side in (sources, targets)]
            shape = (len(indices), *(int(max(side.lengths)) + 1 for side in sides))
            gathered = (side.gather(np.arange(len(indices))) for side in sides)
            inputs, target_out, sample_weight = teacher_forced(*gathered, *self.specials, shape)
            yield indices, inputs, target_out, sample_weight > 0

    def _token_scores(self, source, target_in, target_out, real):
        logits = ops.cast(self.model((source, target_in)), "float32")  # (B, T, V)
        chosen = ops.take_along_axis(logits, ops.cast(target_out, "int32")[..., None], axis=-1)[..., 0]
        values = chosen - ops.logsumexp(logits, axis=-1)  # (B, T)
        return ops.sum(ops.where(real, values, 0.0), axis=-1)

    def _attention_weights(self, source, target_in):
        _, weights = self.model((source, target_in), return_attention_weights=True)
        return weights  # (B, T, S)

    def _next_tokens(self, source, target_in, count):
        logits = ops.cast(self.model((source, target_in)), "float32")  # (B, T, V)
        probabilities, ids = ops.top_k(ops.softmax(logits), min(count, logits.shape[-1]))  # (B, T, K)
        return ops.cast(ids, "int32"), probabilities

"""Batches of a parallel corpus for teacher forcing, each with an address: (seed, epoch, i)."""

import keras
import numpy as np

from keraszoo.text.token_rows import padded
from keraszoo.training.addressed_batches import AddressedBatches


class TokenBatches(AddressedBatches):
    """Batches of sentence pairs for `fit` and `evaluate`, under a budget of tokens.

    `batch(epoch, i)` is a pure function of the corpus and the arguments, so a stopped run can resume at any
    step. Pairs of similar length share a batch, padded to one of a few shapes (`ShapeLadder`). Every epoch
    draws new batches and a new order of them; every pair occurs once an epoch, and every epoch has the same
    number of batches.

    Call `fit(batches.for_fit(), steps_per_epoch=len(batches), shuffle=False)`. Compile the model with a loss
    that sums, such as `TokenCrossentropy`: the weights of a batch sum to 1.

    Shapes: B rows, S source and T target positions; all three differ from batch to batch.

    Args:
        corpus: a `ParallelCorpus`.
        tokens: the budget: neither the padded source tokens B x S nor the padded target tokens B x T of a
            batch exceed it (`</s>` counted).
        seed: seed of the shuffling, not negative.
        replicas: the number of rows of every batch is a multiple of it; rows of padding with weight 0 fill
            the batch.
        shuffle: `False` for validation: the same batches in the same order every epoch.
        shapes: the number of different (S, T) at most. More mean less padding and, under XLA, more programs
            to compile. `None`, for training without XLA: each batch is as long as its own longest sentences.
        copies: how often each row occurs, one after the other, with a share of its weight; 2 for the R-Drop
            of `TokenCrossentropy`. The budget counts a row once.

    Raises:
        DataError: a pair too long for the budget.
        KerasZooError: a value out of range.

    Example:

    >>> from keraszoo.text.corpus import ParallelCorpus
    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> batches = TokenBatches(corpus, tokens=64, shuffle=False)
    >>> (source, target_in), target_out, sample_weight = batches.batch(epoch=0, i=0)
    >>> source.tolist()
    [[5, 6, 3], [7, 3, 0]]
    >>> target_out.tolist()
    [[8, 3, 0, 0], [9, 9, 9, 3]]

    Stock Keras trains a translation model on them:

        model = RNNSearch(vocabulary_size)
        model.compile("adam", TokenCrossentropy())
        batches = TokenBatches(corpus, 4096)
        model.fit(batches.for_fit(), steps_per_epoch=len(batches), epochs=10, shuffle=False)
    """

    def __init__(self, corpus, tokens, *, seed=0, replicas=1, shuffle=True, shapes=16, copies=1):
        lengths = corpus.sources.lengths, corpus.targets.lengths
        super().__init__([side + 1 for side in lengths], tokens, seed, replicas, shuffle, shapes)
        self.corpus = corpus
        self.copies = copies

    def batch(self, epoch, i):
        """Returns batch i of an epoch.

        Returns:
            `((source, target_in), target_out, sample_weight)`: int32 (B, S), int32 (B, T), int32 (B, T),
            float32 (B, T). The weights are one over the number of real target tokens drawn, divided by
            `copies`, and 0 on padding.

        Raises:
            IndexError: no such batch.
        """
        indices, shape = self._address(epoch, i)
        corpus = self.corpus
        sides = corpus.sources.gather(indices), corpus.targets.gather(indices)
        batch = teacher_forced(*sides, corpus.source_special, corpus.target_special, shape)
        if self.copies == 1:
            return batch
        inputs, target_out, weight = keras.tree.map_structure(
            lambda x: np.repeat(x, self.copies, axis=0), batch
        )
        return inputs, target_out, weight / np.float32(self.copies)

    def real_tokens(self, epoch, i):
        """The number of target tokens, `</s>` counted and padding not, in batch i of an epoch."""
        indices = self.indices(epoch, i)
        return int(self.corpus.targets.lengths[indices].sum()) + len(indices)


def teacher_forced(sources, targets, source_special, target_special, shape):
    """Pads one batch and shifts the target by one, for teacher forcing: see `TokenBatches.batch`.

    For a target `y_1 ... y_n`, the decoder reads `<s> y_1 ... y_n` and predicts `y_1 ... y_n </s>`; the
    encoder reads `x_1 ... x_m </s>`. `sources` and `targets` are flat ids and lengths (n,), as
    `TokenRows.gather` returns them. The shape is `(B, S, T)`, B >= n; rows beyond the sentences are padding.
    """
    rows, source_length, target_length = shape
    count = len(targets[1])
    source = padded(*sources, (rows, source_length), source_special.pad_id)
    source[np.arange(count), sources[1]] = source_special.end_id
    target_out = padded(*targets, (rows, target_length), target_special.pad_id)
    # Shifted right by one; the last token of the longest row drops out, where target_out has </s>.
    target_in = np.full_like(target_out, target_special.pad_id)
    target_in[:, 1:] = target_out[:, :-1]
    target_in[:count, 0] = target_special.start_id
    target_out[np.arange(count), targets[1]] = target_special.end_id
    weight = np.zeros((rows, target_length), "float32")
    weight[:count] = np.arange(target_length) <= np.asarray(targets[1])[:, None]
    return (source, target_in), target_out, weight / max(1, len(targets[0]) + count)

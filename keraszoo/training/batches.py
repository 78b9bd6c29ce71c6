"""Batches of a parallel corpus, each of which has an address: (seed, epoch, i)."""

import threading

import keras
import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.training.batch_plans import BudgetGrouping, GivenGrouping
from keraszoo.training.teacher_forcing import teacher_forced


class TokenBatches(keras.utils.PyDataset):
    """The batches that `fit` and `evaluate` are given, under a budget of tokens.

    `batch(epoch, i)` is a pure function of the corpus and the arguments: a run that stopped is taken up at
    any step by asking for the batches that are still due. Pairs of like length stand together, padded to one
    of a few shapes (`ShapeLadder`); which pairs of a shape meet in a batch and the order of the batches are
    drawn anew every epoch. Every pair comes exactly once an epoch, and every epoch has the same number of
    batches.

    Call `fit(batches, shuffle=False)`: `fit` would otherwise draw another order of the batches, from a
    generator that knows no address.

    Shapes: B rows, S source and T target positions, all three differing from batch to batch.

    Args:
        corpus: a `ParallelCorpus`.
        tokens: the budget: neither the padded source tokens B x S nor the padded target tokens B x T of a
            batch exceed it (`</s>` counted).
        batches: instead of `tokens`: the batches themselves, a list of arrays of pair numbers, which are kept
            and only change their order (a pair may be in several or in none).
        seed: of the shuffling, not negative.
        replicas: the number of rows of every batch is a multiple of it; rows of padding with weight 0 fill it
            up.
        shuffle: `False` for validation: the same batches in the same order every epoch.
        shapes: how many (S, T) there may be. More mean less padding and, under XLA, more programs to compile.
            `None`, for training without XLA: no limit; every batch is as long as its own longest sentences.
        multiple: S and T are multiples of it; 8 suits the matrix units of GPUs in half precision.

    Attributes:
        epoch: the epoch that `self[i]` takes its batches from. Settable. `on_epoch_end` moves it on; see
            `at_epoch`.

    Raises:
        DataError: a pair too long for the budget, or a pair number that the corpus does not have.
        KerasZooError: neither or both of `tokens` and `batches`, or a value out of range.

    Example:

    >>> from keraszoo.text.corpus import ParallelCorpus
    >>> corpus = ParallelCorpus.from_ids([[5, 6], [7]], [[8], [9, 9, 9]], pad_id=0, start_id=2, end_id=3)
    >>> batches = TokenBatches(corpus, tokens=64, shuffle=False)
    >>> len(batches)
    1
    >>> (source, target_in), target_out, sample_weight = batches.batch(epoch=0, i=0)
    >>> source.tolist()
    [[5, 6, 3], [7, 3, 0]]
    >>> target_out.tolist()
    [[8, 3, 0, 0], [9, 9, 9, 3]]
    """

    def __init__(
        self,
        corpus,
        tokens=None,
        *,
        batches=None,
        seed=0,
        replicas=1,
        shuffle=True,
        shapes=16,
        multiple=1,
    ):
        super().__init__()
        if (tokens is None) == (batches is None):
            raise KerasZooError(
                "give either tokens, the budget of a batch, or batches, a list of arrays of pair numbers"
            )
        least = {"tokens": 1, "seed": 0, "replicas": 1, "shapes": 1, "multiple": 1}
        values = {
            "tokens": tokens,
            "seed": seed,
            "replicas": replicas,
            "shapes": shapes,
            "multiple": multiple,
        }
        for name, value in values.items():
            if value is not None and value < least[name]:
                raise KerasZooError(f"{name} must be at least {least[name]}, got {value}")
        self.corpus = corpus
        self.seed = seed
        self.replicas = replicas
        self.shuffle = shuffle
        self.epoch = 0
        if batches is None:
            self._grouping = BudgetGrouping(corpus, tokens, replicas, shapes, multiple)
        else:
            self._grouping = GivenGrouping(corpus, batches, shapes, multiple)
        self._plans = {}
        self._lock = threading.Lock()
        self._begun = False
        self._length = len(self._plan(0).lengths)

    def batch(self, epoch, i):
        """Batch i of an epoch.

        Returns:
            `((source, target_in), target_out, sample_weight)`: int32 (B, S), int32 (B, T), int32 (B, T),
            float32 (B, T). The weights are `1 / real_tokens(epoch, i)` on real target tokens and 0 on
            padding.

        Raises:
            IndexError: no such batch.
        """
        indices, shape = self._address(epoch, i)
        corpus = self.corpus
        return teacher_forced(
            corpus.sources.gather(indices),
            corpus.targets.gather(indices),
            corpus.source_special,
            corpus.target_special,
            shape,
        )

    def indices(self, epoch, i):
        """The numbers of the pairs in batch i of an epoch, int32 (n,), in the order of its rows."""
        return self._address(epoch, i)[0]

    def shape(self, epoch, i):
        """The shape (B, S, T) of batch i of an epoch."""
        return self._address(epoch, i)[1]

    def real_tokens(self, epoch, i):
        """The number of target tokens, `</s>` counted and padding not, in batch i of an epoch."""
        indices = self.indices(epoch, i)
        return int(self.corpus.target_lengths[indices].sum()) + len(indices)

    def between(self, first, last):
        """The batches of the steps `first` to `last - 1`, counted from the start of epoch 0 on.

        Step n is batch `n % len(self)` of epoch `n // len(self)`. A run that stopped in the middle of an
        epoch is taken up by `fit(batches.between(step, end_of_epoch), shuffle=False)`, then `fit(batches,
        shuffle=False)` from the next epoch on.

        Returns:
            A `keras.utils.PyDataset` for `fit`, of `last - first` batches; iterating over it gives them too.
        """
        return _Between(self, first, last)

    def at_epoch(self):
        """A callback that sets `epoch` to the epoch that `fit` is in, for `fit(..., initial_epoch=...)`.

        Without it the epochs are counted by `on_epoch_end`; but `fit` calls that once more before the first
        epoch where it builds the model from a batch first (under a distribution strategy, and on JAX).
        """
        return keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: setattr(self, "epoch", epoch)
        )

    def statistics(self, epoch=0):
        """What the batches of an epoch come to.

        Returns:
            A dict: `batches`, `shapes` (how many different (B, S, T)), `source_tokens` and `target_tokens`
                (real
            ones), `source_padding` and `target_padding` (the share of padding in all positions, in [0, 1)).
        """
        shapes = np.array([self.shape(epoch, i) for i in range(len(self))])
        pairs = self._plan(epoch).order
        statistics = {"batches": len(shapes), "shapes": len(np.unique(shapes, axis=0))}
        for axis, side in enumerate(("source", "target"), start=1):
            real = int(getattr(self.corpus, f"{side}_lengths")[pairs].sum(dtype="int64")) + len(pairs)
            statistics[f"{side}_tokens"] = real
            statistics[f"{side}_padding"] = 1 - real / int((shapes[:, 0] * shapes[:, axis]).sum())
        return statistics

    def on_epoch_begin(self):
        """Called by `fit`; notes that the epoch has begun."""
        self._begun = True

    def on_epoch_end(self):
        """Called by `fit`; moves on to the next epoch if one had begun (`fit` starts with an end)."""
        if self._begun:
            self.epoch += 1
        self._begun = False

    def __len__(self):
        return self._length

    def __getitem__(self, i):
        return self.batch(self.epoch, i)

    def _address(self, epoch, i):
        """The pair numbers of a batch, and its shape (B, S, T)."""
        if not 0 <= i < self._length:
            raise IndexError(f"batch {i} of {self._length}")
        plan = self._plan(epoch)
        indices = plan.order[plan.start[i] : plan.stop[i]]
        rows = -(-len(indices) // self.replicas) * self.replicas
        return indices, (rows, *plan.lengths[i].tolist())

    def _plan(self, epoch):
        """The plan of an epoch; two are kept, because batches of one are still asked for in the next."""
        if epoch < 0:
            raise KerasZooError(f"epoch must not be negative, got {epoch}")
        key = int(epoch) if self.shuffle else 0
        with self._lock:
            if key not in self._plans:
                generator = np.random.default_rng([self.seed, key]) if self.shuffle else None
                for old in sorted(self._plans, key=lambda other: abs(other - key))[1:]:
                    del self._plans[old]
                self._plans[key] = self._grouping.plan(generator)
            return self._plans[key]


class _Between(keras.utils.PyDataset):
    """A stretch of the steps of `TokenBatches`, for `fit`."""

    def __init__(self, batches, first, last):
        super().__init__()
        if not 0 <= first < last:
            raise KerasZooError(f"steps must rise from 0 or later, got {first} to {last}")
        self.batches = batches
        self.first = first
        self.last = last
        self._begun = False

    def on_epoch_begin(self):
        self._begun = True

    def on_epoch_end(self):
        self._begun = False

    def __iter__(self):
        return map(self.batch, range(len(self)))

    def __len__(self):
        return self.last - self.first

    def __getitem__(self, i):
        # Before an epoch begins, Keras takes items 0 and 1 to learn along which axes shapes vary. Those two
        # of a whole epoch show it (`EpochPlan.rearranged`); those of a stretch may be alike by chance.
        if self._begun or i > 1 or len(self) == 1:
            return self.batch(i)
        return self.batches.batch(0, i % len(self.batches))

    def batch(self, i):
        """Batch i of the stretch."""
        if not 0 <= i < len(self):
            raise IndexError(f"batch {i} of {len(self)}")
        return self.batches.batch(*divmod(self.first + i, len(self.batches)))

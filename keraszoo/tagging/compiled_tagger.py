"""Batches of features to tags, compiled: used by `EntityTagger` and by its export."""

import itertools
import threading

import keras
import numpy as np
from keras import ops

from keraszoo.compiling import compiled
from keraszoo.errors import check_at_least
from keraszoo.training.batch_plans import batches_by_length, rounded_lengths

XLA_AFTER = 16  # single sentences, which run without XLA
LONGEST_FOR_XLA = 128  # words of a single sentence
BATCH_COST, POSITION_COST = 64, 4  # overhead of a batch and of a position of its length, in padded positions


def tag_features(model, features):
    """Tags of a batch, their probabilities, and the attention weights of a model that attends.

    Args:
        model: a `TaggingModel`.
        features: dict of int32 `(B, T)` and `(B, T, C)`, padded with 0.

    Returns:
        A list of int32 `(B, T)`, float32 `(B, T)` and, if the model attends, float32 `(B, T)`.
    """
    tags, probabilities, attention_weights = model.tag(features)
    chosen = ops.take_along_axis(probabilities, tags[..., None], axis=-1)[..., 0]
    parts = [chosen] if attention_weights is None else [chosen, attention_weights]
    return [tags, *(ops.cast(part, "float32") for part in parts)]


def tags_alone(model, features):
    """Tags of a batch, a list of one int32 `(B, T)`; a CRF then skips the forward and backward sums."""
    scores, _ = model.read(features, training=False)
    return [model.head.decode(scores, model.mask(features))]


def tag_probabilities(model, features):
    """Probabilities of all tags of a batch, float32 `(B, T, K)`; attention weights as `tag_features`."""
    _, probabilities, attention_weights = model.tag(features)
    parts = [probabilities] if attention_weights is None else [probabilities, attention_weights]
    return [ops.cast(part, "float32") for part in parts]


def feature_specs(vocabulary, names):
    """The `tf.TensorSpec` of each feature, a dict; all lengths may vary."""
    import tensorflow as tf

    ranks = {name: array.ndim for name, array in vocabulary.encode([["a"]]).items()}
    return {name: tf.TensorSpec([None] * ranks[name], tf.int32, name=name) for name in names}


class CompiledTagger:
    """Tags batches with one program that is compiled once, or on JAX once for each of a few shapes.

    A single sentence spends most of its time on launching operations. Therefore TensorFlow uses XLA from the
    seventeenth single sentence on: it compiles one program for each of a few lengths, one or two seconds
    each, and a sentence then takes at most half the time. A caller with a few sentences never waits for XLA.

    Args:
        model: a `TaggingModel`.
        vocabulary: the `TaggingVocabulary` that makes its features.
        function: `tag_features`, `tags_alone` if only the tags are needed, or `tag_probabilities`.
    """

    def __init__(self, model, vocabulary, function=tag_features):
        self.model = model
        self.vocabulary = vocabulary
        self.function = function
        self._program = compiled(self._tag, model, lambda tf: [feature_specs(vocabulary, model.features)])
        self._programs_of_one = {}
        self._lock = threading.Lock()
        self._alone = 0  # sentences that came alone so far

    def __call__(self, features):
        """Tags a batch of features; returns a list of NumPy arrays, the results of the function."""
        rows, length = features["words"].shape
        backend = keras.backend.backend()
        if backend == "jax":
            features = {name: _padded(array, rounded_shape(array.shape)) for name, array in features.items()}
        alone = backend == "tensorflow" and rows == 1 and length <= LONGEST_FOR_XLA
        with self._lock:  # batches come on several threads
            self._alone += alone
            if alone and self._alone > XLA_AFTER:
                features = {name: _doubled_up(array) for name, array in features.items()}
                program = self._program_of_one(features)
            else:
                program = self._program  # JAX compiles it for each shape
        parts = program({name: ops.convert_to_tensor(array) for name, array in features.items()})
        return [ops.convert_to_numpy(part)[:rows, :length] for part in parts]

    def _tag(self, features):
        return self.function(self.model, features)

    def _program_of_one(self, features):
        """The XLA program for one sentence of this shape."""
        import tensorflow as tf

        shape = tuple(array.shape for array in features.values())
        if shape not in self._programs_of_one:
            specs = {name: tf.TensorSpec(array.shape, tf.int32) for name, array in features.items()}
            function = tf.function(self._tag, autograph=False, jit_compile=True)
            self._programs_of_one[shape] = function.get_concrete_function(specs)
        return self._programs_of_one[shape]


def rounded_shape(shape):
    """Rounds a shape up to one of few: the rows to a power of two, the others as `rounded_lengths` does."""
    rows, *lengths = shape
    return 1 << (rows - 1).bit_length(), *(int(rounded_lengths(n, multiple=8)[-1]) for n in lengths)


def _doubled_up(array):
    """An array padded with 0: every length to 16 or a larger power of two."""
    lengths = [max(16, 1 << (length - 1).bit_length()) for length in array.shape[1:]]
    return _padded(array, (array.shape[0], *lengths))


def _padded(array, shape):
    return np.pad(array, [(0, new - old) for old, new in zip(array.shape, shape, strict=True)])


def length_batches(lengths, batch_tokens):
    """Returns an iterator of batches of sentences of similar length, lists of indices, the shortest first.

    A batch ends before its padded tokens exceed the budget; a longer sentence is a batch of its own. It also
    ends when its padding costs as much as one more batch, so that one long sentence does not make all others
    long. JAX compiles one program per shape, so there only the budget counts.

    Args:
        lengths: list of int, the number of words of each sentence; sentences without words are left out.
        batch_tokens: the budget.

    Raises:
        KerasZooError: if the budget is less than 1.

    Example:

    >>> list(length_batches([3, 0, 100, 3, 3], batch_tokens=1000))
    [[0, 3, 4], [2]]
    """
    check_at_least(batch_tokens=(batch_tokens, 1))
    rising = sorted(filter(None, lengths))
    tokens = [0, *itertools.accumulate(rising)]

    def is_full(start, stop):
        padded = (stop + 1 - start) * rising[stop]  # with one sentence more
        padding = padded - (tokens[stop + 1] - tokens[start])
        return padded > batch_tokens or _too_much(padding, rising[stop - 1])

    return batches_by_length(lengths, is_full)


def _too_much(padding, length):
    """Whether this many positions of padding cost more than one more batch of this length."""
    return keras.backend.backend() != "jax" and padding > BATCH_COST + POSITION_COST * length

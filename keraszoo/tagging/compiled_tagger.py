"""Batches of features to tags, compiled: used by `EntityTagger` and by its export."""

import itertools
from functools import partial

import keras
import numpy as np
from keras import ops

from keraszoo.compiling import compiled
from keraszoo.errors import check_at_least
from keraszoo.training.batch_plans import batches_by_length, rounded_lengths

LENGTHS, CHARACTERS = (16, 32, 64, 128), 16  # of XLA's programs for a single sentence: words, and of a word
BATCH_COST, POSITION_COST = 64, 4  # overhead of a batch and of a position of its length, in padded positions


def tag_features(model, features):
    """Tags of a batch and their probabilities, `(B, T)`; also the attention weights if the model attends."""
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
    """Tags batches with one program: on TensorFlow a graph for all shapes, on JAX one for each of a few.

    Args:
        model: a `TaggingModel`.
        vocabulary: the `TaggingVocabulary` that makes its features.
        function: `tag_features`, `tags_alone` if only the tags are needed, or `tag_probabilities`.
    """

    def __init__(self, model, vocabulary, function=tag_features):
        self._function = partial(function, model)
        self._specs = partial(feature_specs, vocabulary, model.features)
        self._program = compiled(self._function, model, lambda tf: [self._specs()])
        self._program_of_one = None

    def __call__(self, features):
        """Tags a batch of features; returns a list of NumPy arrays, the results of the function."""
        rows, length = features["words"].shape
        room, program = None, self._program
        if keras.backend.backend() == "jax":
            features = {name: _padded(array, rounded_shape(array.shape)) for name, array in features.items()}
        elif self._program_of_one is not None and rows == 1:
            room = room_for([array.shape for array in features.values()])
        if room is not None:
            features = {name: _padded(array, room[: array.ndim]) for name, array in features.items()}
            program = self._program_of_one
        parts = program({name: ops.convert_to_tensor(array) for name, array in features.items()})
        return [ops.convert_to_numpy(part)[:rows, :length] for part in parts]

    def warm_up(self):
        """Lets XLA compile a program for single sentences of each of `LENGTHS`, on TensorFlow alone."""
        import tensorflow as tf

        specs = self._specs()
        program = tf.function(self._function, input_signature=[specs], autograph=False, jit_compile=True)
        for length in LENGTHS:
            program({k: tf.ones((1, length, CHARACTERS)[: len(x.shape)], x.dtype) for k, x in specs.items()})
        self._program_of_one = program


def room_for(shapes):
    """The shape `(1, T, C)` of the smallest program for a sentence with features of these shapes, or `None`.

    >>> room_for([(1, 20), (1, 20, 9)]), room_for([(1, 20, 30)])
    ((1, 32, 16), None)
    """
    most = [max(sizes) for sizes in itertools.zip_longest(*shapes, fillvalue=0)]
    length = next((length for length in LENGTHS if length >= most[1]), None)
    return (1, length, CHARACTERS) if length and max(most[2:], default=0) <= CHARACTERS else None


def rounded_shape(shape):
    """Rounds a shape up to one of few: the rows to a power of two, the others as `rounded_lengths` does."""
    rows, *lengths = shape
    return 1 << (rows - 1).bit_length(), *(int(rounded_lengths(n, multiple=8)[-1]) for n in lengths)


def _padded(array, shape):
    return np.pad(array, [(0, new - old) for old, new in zip(array.shape, shape, strict=True)])


def length_batches(lengths, batch_tokens):
    """Returns an iterator of batches of sentences of similar length, lists of indices, the shortest first.

    A batch ends before its padded tokens exceed the budget; a longer sentence is a batch of its own. It also
    ends when its padding costs as much as one more batch, so that one long sentence does not make all others
    long. JAX compiles one program per shape, so there only the budget counts. Sentences of length 0 are left
    out.

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

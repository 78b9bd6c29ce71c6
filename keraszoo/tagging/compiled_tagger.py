"""Batches of features to tags, compiled: what `EntityTagger` runs and what it exports."""

import keras
import numpy as np
from keras import ops

from keraszoo.training.batch_plans import rounded_lengths
from keraszoo.training.held_out import jitted_on_jax

ALONE_AT_FIRST, LONGEST_ALONE = 16, 128  # sentences before XLA is called, words of the longest it is for


def tag_features(model, features):
    """Tags of a batch, how probable each is, and the attention weights of a model that attends.

    Args:
        model: a `TaggingModel`.
        features: dict of int32 `(B, T)` and `(B, T, C)`, padded with 0.

    Returns:
        A list of int32 `(B, T)`, float32 `(B, T)` and, perhaps, float32 `(B, T)`.
    """
    tags, probabilities, attention_weights = model.tag(features)
    tags = ops.cast(tags, "int32")
    chosen = ops.take_along_axis(probabilities, tags[..., None], axis=-1)[..., 0]
    found = [tags, ops.cast(chosen, "float32")]
    return found if attention_weights is None else [*found, ops.cast(attention_weights, "float32")]


def tags_alone(model, features):
    """Tags of a batch, a list of one int32 `(B, T)`: no forward and backward sums, where a CRF has them."""
    features = model.check_features(features)
    scores, _ = model.read(features, training=False)
    return [ops.cast(model.best_tags(features, scores), "int32")]


def feature_specs(vocabulary, names):
    """The `tf.TensorSpec` of each feature, a dict; all lengths may vary."""
    import tensorflow as tf

    ranks = {name: array.ndim for name, array in vocabulary.encode([["a"]]).items()}
    return {name: tf.TensorSpec([None] * ranks[name], tf.int32, name=name) for name in names}


class CompiledTagger:
    """Tags batches by one program that is compiled once, or on JAX once for each of a few shapes.

    Launching operations is most of what a sentence costs that comes alone. So from the seventeenth of them on
    they go through programs of TensorFlow's XLA, made for a few lengths when these come for the first time: a
    second or two each, and then a sentence takes half the time or less. Who tags a few sentences never waits.

    Args:
        model: a `TaggingModel`.
        vocabulary: the `TaggingVocabulary` that makes its features.
        function: `tag_features`, or `tags_alone` where nothing else is wanted.
    """

    def __init__(self, model, vocabulary, function=tag_features):
        self.model = model
        self.vocabulary = vocabulary
        self.function = function
        self._program = None
        self._programs_of_one = {}
        self._alone = 0  # sentences that came alone so far

    def __call__(self, features):
        """Tags a batch of features; gives a list of NumPy arrays, see the function."""
        rows, length = features["words"].shape
        backend = keras.backend.backend()
        if backend == "jax":
            features = {name: _filled_up(array) for name, array in features.items()}
        alone = backend == "tensorflow" and rows == 1 and length <= LONGEST_ALONE
        self._alone += alone
        if alone and self._alone > ALONE_AT_FIRST:
            features = {name: _doubled_up(array) for name, array in features.items()}
            program = self._program_of_one(features)
        else:
            program = self._program = self._program or self._compiled()
        found = program({name: ops.convert_to_tensor(array) for name, array in features.items()})
        return [ops.convert_to_numpy(part)[:rows, :length] for part in found]

    def _tag(self, features):
        return self.function(self.model, features)

    def _compiled(self):
        """The program for batches of any shape; on JAX one that is made for each."""
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            specs = feature_specs(self.vocabulary, self.model.features)
            return tf.function(self._tag, input_signature=[specs], autograph=False)
        return jitted_on_jax(self._tag, self.model)

    def _program_of_one(self, features):
        """The program for one sentence of this shape, by XLA."""
        import tensorflow as tf

        shape = tuple(array.shape for array in features.values())
        if shape not in self._programs_of_one:
            specs = {name: tf.TensorSpec(array.shape, tf.int32) for name, array in features.items()}
            function = tf.function(self._tag, autograph=False, jit_compile=True)
            self._programs_of_one[shape] = function.get_concrete_function(specs)
        return self._programs_of_one[shape]


def _filled_up(array):
    """An array padded with 0 to one of a few shapes: rows to a power of two, lengths to rounded ones."""
    rows = 1 << (array.shape[0] - 1).bit_length()
    lengths = [int(rounded_lengths(length, multiple=8)[-1]) for length in array.shape[1:]]
    return np.pad(array, [(0, new - old) for old, new in zip(array.shape, (rows, *lengths), strict=True)])


def _doubled_up(array):
    """An array padded with 0 behind its rows: every length to 16 or a larger power of two."""
    lengths = [max(16, 1 << (length - 1).bit_length()) for length in array.shape[1:]]
    return np.pad(
        array, [(0, 0), *((0, new - old) for old, new in zip(array.shape[1:], lengths, strict=True))]
    )

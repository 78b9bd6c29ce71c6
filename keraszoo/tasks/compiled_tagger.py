"""Batches of features to tags, compiled: what `EntityTagger` runs and what it exports."""

import keras
import numpy as np
from keras import ops

from keraszoo.training.batch_shapes import rounded_lengths
from keraszoo.training.jitted import jitted_on_jax


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

    def __call__(self, features):
        """Tags a batch of features; gives a list of NumPy arrays, see the function."""
        if self._program is None:
            self._program = self._compiled()
        shape = features["words"].shape
        if keras.backend.backend() == "jax":
            features = {name: _filled_up(array) for name, array in features.items()}
        found = self._program({name: ops.convert_to_tensor(array) for name, array in features.items()})
        return [ops.convert_to_numpy(part)[: shape[0], : shape[1]] for part in found]

    def _compiled(self):
        def tag(features):
            return self.function(self.model, features)

        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            specs = feature_specs(self.vocabulary, self.model.features)
            return tf.function(tag, input_signature=[specs], autograph=False)
        return jitted_on_jax(tag, self.model)


def _filled_up(array):
    """An array padded with 0 to one of a few shapes: rows to a power of two, lengths to rounded ones."""
    rows = 1 << (array.shape[0] - 1).bit_length()
    lengths = [int(rounded_lengths(length, multiple=8)[-1]) for length in array.shape[1:]]
    return np.pad(array, [(0, new - old) for old, new in zip(array.shape, (rows, *lengths), strict=True)])

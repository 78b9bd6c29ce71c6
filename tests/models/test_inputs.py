"""Ids may be floats, and one trace of a model and its gradient serves all lengths of both sentences."""

import keras
import numpy as np
import pytest
from keras import ops
from model_cases import MODELS

from keraszoo import models

V = 600  # bfloat16 has all integers up to 256 only
SHAPES = {"MemoryNetwork": ((2, 3, 4), (2, 4)), "RecurrentTagger": {"words": (2, 5)}}


def make(name, **options):
    if name == "RecurrentTagger":
        return models.RecurrentTagger(3, V, 8, 6, train_vectors=True, **options)
    options |= {"window": "local-p"} if name == "LuongNMT" else {}
    return getattr(models, name)(V, **MODELS[name], **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LuongNMT", "RNNSearch", "Transformer", *SHAPES])
def test_ids_that_are_floats_are_not_rounded_to_other_words(name):
    """Floats are the default of `keras.Input`."""
    model, rng = make(name, dtype="mixed_bfloat16"), np.random.default_rng(0)
    shapes = SHAPES.get(name, ((2, 5), (2, 4)))
    ids = keras.tree.map_shape_structure(lambda shape: rng.integers(300, V, shape), shapes)
    floats = keras.tree.map_structure(lambda x: x.astype("float32"), ids)
    expected, found = (ops.convert_to_numpy(ops.cast(model(x), "float32")) for x in (ids, floats))
    np.testing.assert_array_equal(found, expected)


TRACED = ["ConvS2S", "LuongNMT", "MemoryNetwork", "RNNSearch", "Transformer"]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow traces unknown lengths")
@pytest.mark.parametrize("name", [*TRACED, pytest.param("DeepLSTM", marks=pytest.mark.slow)])
def test_one_trace_serves_all_lengths(name):
    import tensorflow as tf

    model, draw = make(name), np.random.default_rng(0)
    model.build()

    def logits_and_gradients(first, second):
        with tf.GradientTape() as tape:
            logits = model((first, second))
            loss = tf.reduce_sum(logits**2)
        gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
        return [logits, *map(tf.convert_to_tensor, gradients)]

    ranks = (3, 2) if name == "MemoryNetwork" else (2, 2)
    specs = [tf.TensorSpec([None] * rank, tf.int32) for rank in ranks]
    traced = tf.function(logits_and_gradients, input_signature=specs, autograph=False)
    for rows, longer, shorter in ((3, 7, 6), (2, 5, 8)):
        first = draw.integers(4, V, (rows, longer, 3)[: ranks[0]], "int32")
        first[1, 3:] = 0
        second = draw.integers(4, V, (rows, shorter), "int32")
        expected = logits_and_gradients(first, second)
        for ours, theirs in zip(traced(first, second), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)

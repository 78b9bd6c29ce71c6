"""One trace of a model and its gradient serves all lengths of both sentences."""

import keras
import numpy as np
import pytest

from keraszoo.models import ConvS2S, DeepLSTM, LuongNMT, MemoryNetwork, RNNSearch, Transformer

MODELS = {
    "attention decoder": lambda: RNNSearch(13, embedding_dim=4, units=6, dropout=0.0),
    "Luong decoder": lambda: LuongNMT(13, embedding_dim=4, units=6, num_layers=1, window="local-p"),
    "Transformer": lambda: Transformer(13, d_model=8, num_layers=1, num_heads=2, intermediate_dim=8),
    "convolutions": lambda: ConvS2S(13, embedding_dim=4, units=6, num_layers=1, dropout=0.0),
    "recurrent decoder": lambda: DeepLSTM(13, embedding_dim=4, units=6, num_layers=1),
}


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow traces unknown lengths")
@pytest.mark.parametrize(
    "kind", [*list(MODELS)[:4], pytest.param("recurrent decoder", marks=pytest.mark.slow)]
)
def test_traced_once(kind):
    import tensorflow as tf

    model, draw = MODELS[kind](), np.random.default_rng(0)
    model.build()

    def logits_and_gradients(source, target_in):
        with tf.GradientTape() as tape:
            logits = model((source, target_in))
            loss = tf.reduce_sum(logits**2)
        gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
        return [logits, *map(tf.convert_to_tensor, gradients)]

    lengths = [tf.TensorSpec([None, None], tf.int32)] * 2
    traced = tf.function(logits_and_gradients, input_signature=lengths, autograph=False)
    for rows, source_length, target_length in ((3, 7, 6), (2, 5, 8)):
        source = draw.integers(4, 13, (rows, source_length), "int32")
        source[1, 3:] = 0
        target_in = draw.integers(4, 13, (rows, target_length), "int32")
        expected = logits_and_gradients(source, target_in)
        for ours, theirs in zip(traced(source, target_in), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow traces unknown lengths")
def test_a_memory_network_is_traced_once():
    import tensorflow as tf

    model = MemoryNetwork(9, width=4, memory_size=5)
    model.build()
    lengths = [tf.TensorSpec([None] * 3, tf.int32), tf.TensorSpec([None] * 2, tf.int32)]
    traced = tf.function(lambda story, question: model((story, question)), input_signature=lengths)
    for n in (2, 3):
        story, question = np.ones((2, n, n + 1), "int32"), np.ones((2, n), "int32")
        np.testing.assert_allclose(traced(story, question), model((story, question)), atol=1e-5)

"""ConvS2S against the numbers of fairseq 0.12.2."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import LearnedPositions
from keraszoo.models import ConvS2S

FILE = "fairseq_convs2s.npz"
PAD, LAYERS = 1, 3


@pytest.fixture(scope="module")
def model(numbers):
    sizes = {"embedding_dim": 12, "units": 16, "num_layers": 2, "num_decoder_layers": LAYERS}
    model = ConvS2S(40, 45, **sizes, dropout=0.0, max_positions=30, source_pad_id=PAD)
    model.build()
    for side in ("encoder", "decoder"):
        ours = "source" if side == "encoder" else "target"
        table = numbers[f"weights/{side}.embed_tokens.weight"]
        getattr(model, f"{ours}_embedding").embeddings.assign(table)
        positions = numbers[f"weights/{side}.embed_positions.weight"]
        getattr(model, f"{ours}_positions").P.assign(positions[PAD + 1 :])  # theirs count from pad + 1
    layers = {
        "encoder.fc1": model.encoder_in,
        "encoder.fc2": model.encoder_out,
        "decoder.fc1": model.decoder_in,
        "decoder.fc2": model.decoder_out,
        "decoder.fc3": model.output_layer,
    }
    for side in ("encoder", "decoder"):
        for i, convolution in enumerate(getattr(model, f"{side}_convolutions")):
            layers[f"{side}.convolutions.{i}"] = convolution.W
    for i in range(LAYERS):
        layers[f"decoder.attention.{i}.in_projection"] = model.queries[i]
        layers[f"decoder.attention.{i}.out_projection"] = model.contexts[i]
    for name, layer in layers.items():
        v, g, bias = (numbers[f"weights/{name}.{part}"] for part in ("weight_v", "weight_g", "bias"))
        layer.kernel.assign(v.T if v.ndim == 2 else v.reshape(-1, v.shape[-1]))
        layer.g.assign(g.ravel())
        layer.bias.assign(bias)
    return model


def right(x, lengths):
    """Rows of a source that is padded on the left, `(B, S, ...)`, with the padding on the right."""
    return np.stack([np.roll(row, length - len(row), axis=0) for row, length in zip(x, lengths, strict=True)])


def agree(ours, theirs, real):
    np.testing.assert_allclose(ops.convert_to_numpy(ours)[real], theirs[real], atol=1e-5)


@pytest.fixture(params=["left_padded", "full"])
def case(request, numbers):
    """The arrays of a case; those of a source are padded on the right."""
    prefix = f"{request.param}/"
    arrays = {name.removeprefix(prefix): x for name, x in numbers.items() if name.startswith(prefix)}
    lengths = arrays["source_lengths"]
    of_source = "src_tokens", "encoder_x", "encoder_y", *(n for n in arrays if "source_input_embedding" in n)
    arrays |= {name: right(arrays[name], lengths) for name in of_source}
    for name in ("attention_average", *(f"attention_{i}" for i in range(LAYERS))):
        arrays[name] = right(arrays[name].swapaxes(1, 2), lengths).swapaxes(1, 2)
    return arrays


def test_memory_logits_and_attention_equal_fairseq(case, model):
    source, target_in = case["src_tokens"], case["prev_output_tokens"]
    memory, real = model.encode(source), source != PAD
    agree(memory["memory"], case["encoder_x"], real)
    agree(memory["values"], case["encoder_y"], real)
    logits, weights = model((source, target_in), return_attention_weights=True)
    real = case["target"] != PAD
    agree(logits, case["logits"], real)
    agree(weights, case["attention_average"], real)
    heads = model.attention_heads((source, target_in))  # (B, L, 1, T, S)
    for i in range(LAYERS):
        agree(heads[:, i, 0], case[f"attention_{i}"], real)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="gradients by TensorFlow's tape")
def test_gradients_equal_fairseq(case, model, monkeypatch):
    import tensorflow as tf

    source, target, embedded, call = case["src_tokens"], case["target"], [], LearnedPositions.call

    def watched(self, inputs, positions=None):
        embedded.append(call(self, inputs, positions))
        tape.watch(embedded[-1])
        return embedded[-1]

    monkeypatch.setattr(LearnedPositions, "call", watched)
    tables = model.source_embedding, model.source_positions, model.target_embedding
    with tf.GradientTape() as tape:
        log_probs = ops.log_softmax(model((source, case["prev_output_tokens"])))
        words = ops.one_hot(target, 45) * ops.cast(target != PAD, "float32")[..., None]
        log_likelihood = ops.sum(log_probs * words)
    assert float(log_likelihood) == pytest.approx(float(case["log_likelihood"]), abs=1e-4)
    weights = [*(table.weights[0].value for table in tables), embedded[0]]
    ours = [ops.convert_to_numpy(ops.convert_to_tensor(x)) for x in tape.gradient(log_likelihood, weights)]
    agree(ours[0], case["grad_source_embed_tokens"], np.arange(40) != PAD)
    agree(ours[1], case["grad_source_embed_positions"][PAD + 1 :], slice(None))
    agree(ours[2], case["grad_target_embed_tokens"], np.arange(45) != PAD)
    agree(ours[3], case["grad_source_input_embedding"], source != PAD)
    assert np.abs(ours[0] - case["unscaled/grad_source_embed_tokens"]).max() > 0.01

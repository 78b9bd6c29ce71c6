"""Layers against numbers of PyTorch and Joey NMT: outputs, and the gradients of Transformer layers."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.layers import (
    BahdanauAttention,
    BidirectionalEncoder,
    LuongAttention,
    LuongDecoder,
    MultiHeadAttention,
    RecurrentStack,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)

FILE = "torch_layers.npz"
H, D, F = 2, 12, 17
CELLS = "rnn", "gru_reset_after", "lstm"


@pytest.fixture
def case(request, numbers):
    """The arrays of a case: weights and gradients by the names of PyTorch, inputs and outputs."""
    arrays = {key.removeprefix(f"{request.param}/"): x for key, x in numbers.items()}
    return {**arrays, "name": request.param.rpartition("/")[2]}


def cases(*names):
    return pytest.mark.parametrize("case", names, indirect=True)


def agree(ours, theirs, tolerance=1e-5):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(a), b, atol=tolerance, rtol=0)


# --- which of our weights is which of theirs: (variable, name, what turns an array of theirs into ours)


def dense(ours, name, bias=True):
    yield ours.kernel, f"{name}.weight", np.transpose
    if bias:
        yield ours.bias, f"{name}.bias", np.asarray


def attention_weights(ours, prefix=""):
    for i, name in enumerate("qkv"):
        part = slice(i * D, (i + 1) * D)
        yield getattr(ours, f"W_{name}").kernel, f"{prefix}in_proj_weight", lambda a, part=part: a[part].T
        yield getattr(ours, f"W_{name}").bias, f"{prefix}in_proj_bias", lambda a, part=part: a[part]
    yield from dense(ours.W_o, f"{prefix}out_proj")


def transformer_weights(ours):
    yield from attention_weights(ours.self_attention, "self_attn.")
    decodes = isinstance(ours, TransformerDecoderLayer)
    if decodes:
        yield from attention_weights(ours.cross_attention, "multihead_attn.")
    for i, name in enumerate(["self_attention", *["cross_attention"] * decodes, "feed_forward"], start=1):
        norm = getattr(ours, f"{name}_norm")
        yield from ((norm.gamma, f"norm{i}.weight", np.asarray), (norm.beta, f"norm{i}.bias", np.asarray))
    for i in (1, 2):
        yield from dense(getattr(ours.feed_forward, f"W_{i}"), f"linear{i}")


def scorer_weights(ours, prefix=""):
    names = {"W_a": "key_layer"}
    if isinstance(ours, BahdanauAttention):
        names = {"W_q": "query_layer", "W_k": "key_layer", "v": "energy_layer"}
    for name, theirs in names.items():
        yield from dense(getattr(ours, name), prefix + theirs, bias=False)


def take(pairs, case):
    for variable, name, convert in pairs:
        variable.assign(convert(case[f"weights/{name}"]))


def take_recurrent(cell, case, suffix="", prefix="", inputs=None):
    """Takes the weights of a recurrent layer; PyTorch's GRU has its gates in the order r, z, candidate.

    Returns the rows of W beyond the first `inputs`, which `LuongDecoder` keeps as C.
    """

    def gates(name):
        parts = np.split(case[f"weights/{prefix}{name}{suffix}"].T, cell.width // cell.units, axis=-1)
        order = (1, 0, 2) if cell.cell == "gru_reset_after" else range(len(parts))
        return np.concatenate([parts[i] for i in order], axis=-1)

    W = gates("weight_ih")
    cell.W.kernel.assign(W[:inputs])
    cell.U.kernel.assign(gates("weight_hh"))
    if cell.U.use_bias:
        cell.W.bias.assign(gates("bias_ih"))
        cell.U.bias.assign(gates("bias_hh"))
    else:
        cell.W.bias.assign(gates("bias_ih") + gates("bias_hh"))
    return W[inputs:] if inputs else None


# --- PyTorch


@cases("multi_head_attention")
def test_multi_head_attention(case):
    layer, query, value = MultiHeadAttention(H, D // H), case["query"], case["value"]
    layer(query, value)
    take(attention_weights(layer), case)
    agree(layer(query, value, value_mask=case["mask"]), [case["context"], case["attention"]])
    causal = layer(value, value, value_mask=case["mask"], use_causal_mask=True)
    agree(causal, [case["causal_context"], case["causal_attention"]])


@cases(
    *(f"encoder_layer/{norm}_{activation}" for norm in ("pre", "post") for activation in ("relu", "gelu")),
    "decoder_layer/pre_relu",
    "decoder_layer/post_relu",
)
def test_a_transformer_layer_and_a_step_of_gradient_descent(case):
    norm, activation = case["name"].split("_")
    inputs = [case[name] for name in ("inputs", "memory", "mask") if name in case]
    symbols = [keras.Input(x.shape[1:], dtype=str(x.dtype)) for x in inputs]
    kind = TransformerDecoderLayer if "memory" in case else TransformerEncoderLayer
    options = {"memory_mask" if "memory" in case else "mask": symbols[-1]}
    layer = kind(H, F, norm == "pre", activation=activation, dropout=0.0)
    model = keras.Model(symbols, keras.tree.flatten(layer(*symbols[:-1], **options))[0])
    pairs = list(transformer_weights(layer))
    assert len({id(variable) for variable, *_ in pairs}) == len(layer.trainable_variables)
    take(pairs, case)
    agree([model(inputs)], [case["output"]])
    model.compile(keras.optimizers.SGD(1.0), "mse", run_eagerly=True)
    before = [ops.convert_to_numpy(variable).copy() for variable, *_ in pairs]
    model.train_on_batch(inputs, case["target"])
    changes = [
        old - ops.convert_to_numpy(variable) for old, (variable, *_) in zip(before, pairs, strict=True)
    ]
    agree(changes, [convert(case[f"gradients/{name}"]) for _, name, convert in pairs])


@cases(*(f"stack/{cell}" for cell in CELLS))
def test_a_recurrent_stack(case):
    def by_layer(state):
        return [ops.convert_to_tensor(part[i]) for i in range(2) for part in state]

    stack = RecurrentStack(H, case["name"], num_layers=2)
    stack(case["inputs"], by_layer(case["state"]))
    for i, cell in enumerate(stack.cells):
        take_recurrent(cell, case, f"_l{i}")
    agree(
        stack(case["inputs"], by_layer(case["state"])),
        [case["output"], *map(np.asarray, by_layer(case["last"]))],
    )


@cases(*(f"bidirectional/{cell}" for cell in CELLS))
def test_a_bidirectional_encoder(case):
    encoder = BidirectionalEncoder(H, case["name"], num_layers=2)
    encoder(case["inputs"])
    for i in range(2):
        take_recurrent(encoder.left_to_right[i].cells[0], case, f"_l{i}")
        take_recurrent(encoder.right_to_left[i].cells[0], case, f"_l{i}_reverse")
    expected = case["output"]
    agree(encoder(case["inputs"], mask=case["mask"]), [expected, expected[:, 0, H:]])


# --- Joey NMT


def scorer(name):
    return LuongAttention("general") if name.startswith("luong") else BahdanauAttention(D)


@cases(
    *(
        f"joeynmt_decoder/{kind}_{feeding}"
        for kind in ("luong_lstm", "bahdanau_gru_reset_after")
        for feeding in ("fed", "unfed")
    )
)
def test_a_decoder_of_joey_nmt(case):
    """Two layers with attention on top: theirs steps, ours runs in a loop or all at once."""
    _, rest = case["name"].split("_", 1)
    cell, feeding = rest.rsplit("_", 1)
    inputs, memory = case["inputs"], case["memory"]
    attention = scorer(case["name"])
    decoder = LuongDecoder(attention, D, cell, num_layers=2, input_feeding=feeding == "fed")
    parts = 2 if cell == "lstm" else 1  # h and c begin alike
    state = [ops.convert_to_tensor(part) for part in case["first"] for _ in range(parts)]
    decoder(inputs, memory, state)
    take(scorer_weights(attention, "attention."), case)
    C = take_recurrent(decoder.stack.cells[0], case, "_l0", "rnn.", inputs=F)
    take_recurrent(decoder.stack.cells[1], case, "_l1", "rnn.")
    if feeding == "fed":
        decoder.C.kernel.assign(C)
    hidden, context = np.split(case["weights/att_vector_layer.weight"].T, [D])
    decoder.W_c.kernel.assign(np.concatenate([context, hidden]))
    agree(decoder(inputs, memory, state, memory_mask=case["mask"]), [case["output"], case["attention"]])

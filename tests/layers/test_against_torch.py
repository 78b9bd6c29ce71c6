"""Layers against PyTorch's and Joey NMT's with the same weights: outputs, and the Transformer's gradients."""

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
from keraszoo.layers.recurrent_cell import RecurrentCell

torch = pytest.importorskip("torch")

B, T, S, H, D, F = 3, 5, 7, 2, 12, 17
LENGTHS = np.array([7, 4, 1])
MASK = np.arange(S) < LENGTHS[:, None]
RECURRENT = {"rnn": "RNN", "gru_reset_after": "GRU", "lstm": "LSTM"}


@pytest.fixture
def agree(record_property):
    """Holds ours against theirs; how far they differ is written to a report of the run (--junitxml)."""

    def agree(ours, theirs, tolerance=1e-5):
        differences = [np.abs(numbers(a) - numbers(b)).max() for a, b in zip(ours, theirs, strict=True)]
        record_property("largest_difference", float(max(differences)))
        assert max(differences) < tolerance, differences

    return agree


def numbers(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else ops.convert_to_numpy(x)


def draw(*shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def tensors(*arrays):
    return [torch.tensor(array) for array in arrays]


def randomize(module):
    generator = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    return module


# --- which of our weights is which of theirs: (variable, parameter, what turns an array of theirs into ours)


def dense(ours, theirs):
    yield ours.kernel, theirs.weight, np.transpose
    if theirs.bias is not None:
        yield ours.bias, theirs.bias, np.asarray


def attention_weights(ours, theirs):
    for i, name in enumerate("qkv"):
        part = slice(i * theirs.embed_dim, (i + 1) * theirs.embed_dim)
        yield getattr(ours, f"W_{name}").kernel, theirs.in_proj_weight, lambda a, part=part: a[part].T
        yield getattr(ours, f"W_{name}").bias, theirs.in_proj_bias, lambda a, part=part: a[part]
    yield from dense(ours.W_o, theirs.out_proj)


def transformer_weights(ours, theirs):
    yield from attention_weights(ours.self_attention, theirs.self_attn)
    decodes = isinstance(ours, TransformerDecoderLayer)
    if decodes:
        yield from attention_weights(ours.cross_attention, theirs.multihead_attn)
    yield from dense(ours.feed_forward.W_1, theirs.linear1)
    yield from dense(ours.feed_forward.W_2, theirs.linear2)
    names = "self_attention", *["cross_attention"] * decodes, "feed_forward"
    for i, name in enumerate(names, start=1):
        norm = getattr(theirs, f"norm{i}")
        yield getattr(ours, f"{name}_norm").gamma, norm.weight, np.asarray
        yield getattr(ours, f"{name}_norm").beta, norm.bias, np.asarray


def take(pairs):
    for variable, parameter, convert in pairs:
        variable.assign(convert(numbers(parameter)))


def take_recurrent(cell, module, suffix, inputs=None):
    """Takes the weights of a recurrent layer; PyTorch's GRU has its gates in the order r, z, candidate.

    Returns the rows of W beyond the first `inputs`, which `LuongDecoder` keeps as C.
    """

    def gates(name):
        parts = np.split(numbers(getattr(module, name + suffix)).T, cell.width // cell.units, axis=-1)
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


# --- the Transformer


@pytest.mark.parametrize("causal", [False, True])
def test_multi_head_attention(agree, causal):
    query, value = draw((B, T, D), (B, S, D))
    query = value if causal else query
    theirs = randomize(torch.nn.MultiheadAttention(D, H, batch_first=True))
    layer = MultiHeadAttention(H, D // H)
    layer(query, value)
    take(attention_weights(layer, theirs))
    hidden = torch.triu(torch.ones(S, S, dtype=torch.bool), 1) if causal else None
    expected = theirs(
        *tensors(query, value, value),
        key_padding_mask=torch.tensor(~MASK),
        attn_mask=hidden,
        average_attn_weights=False,
    )
    agree(layer(query, value, value_mask=MASK, use_causal_mask=causal), expected)


def agree_in_gradients(agree, layer, module, inputs, mask_name, call):
    """One step of gradient descent changes our weights by the gradients that PyTorch finds."""
    symbols, mask = [keras.Input(x.shape[1:]) for x in inputs], keras.Input((S,), dtype="bool")
    outputs = keras.tree.flatten(layer(*symbols, **{mask_name: mask}))
    model = keras.Model([*symbols, mask], outputs[0])
    pairs = list(transformer_weights(layer, module))
    theirs = len(list(module.parameters())) + 4 * len(inputs)  # which have W_q, W_k and W_v in one
    assert len(pairs) == len(layer.trainable_variables) == theirs
    take(pairs)
    expected = call(*tensors(*inputs))
    inputs = [*inputs, MASK]
    agree([model(inputs)], [expected])
    (target,) = draw(expected.shape)
    errors = ((expected - torch.tensor(target)) ** 2).mean(-1)
    (errors[torch.tensor(MASK)] if mask_name == "mask" else errors).mean().backward()  # as Keras masks losses
    model.compile(keras.optimizers.SGD(1.0), "mse", run_eagerly=True)
    before = [numbers(variable).copy() for variable, *_ in pairs]
    model.train_on_batch(inputs, target)
    changes = [old - numbers(variable) for old, (variable, *_) in zip(before, pairs, strict=True)]
    agree(changes, [convert(numbers(parameter.grad)) for _, parameter, convert in pairs])


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder_layer(agree, pre_norm, activation):
    inputs = draw((B, S, D))
    options = {"dropout": 0.0, "activation": activation}
    module = torch.nn.TransformerEncoderLayer(
        D, H, F, layer_norm_eps=1e-6, batch_first=True, norm_first=pre_norm, **options
    )
    layer = TransformerEncoderLayer(H, F, pre_norm, **options)
    agree_in_gradients(
        agree,
        layer,
        randomize(module),
        inputs,
        "mask",
        lambda x: module(x, src_key_padding_mask=torch.tensor(~MASK)),
    )


@pytest.mark.parametrize("pre_norm", [False, True])
def test_transformer_decoder_layer(agree, pre_norm):
    inputs = draw((B, T, D), (B, S, D))
    module = torch.nn.TransformerDecoderLayer(
        D, H, F, dropout=0.0, layer_norm_eps=1e-6, batch_first=True, norm_first=pre_norm
    )
    layer = TransformerDecoderLayer(H, F, pre_norm, dropout=0.0)
    causal = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    agree_in_gradients(
        agree,
        layer,
        randomize(module),
        inputs,
        "memory_mask",
        lambda x, memory: module(x, memory, tgt_mask=causal, memory_key_padding_mask=torch.tensor(~MASK)),
    )


# --- recurrent nets


@pytest.mark.parametrize("cell", RECURRENT)
def test_recurrent_cell(agree, cell):
    inputs, *state = draw((B, D), *[(B, H)] * (2 if cell == "lstm" else 1))
    theirs = randomize(getattr(torch.nn, f"{RECURRENT[cell]}Cell")(D, H))
    ours = RecurrentCell(H, cell)
    ours.build((B, D))
    take_recurrent(ours, theirs, "")
    first = tuple(tensors(*state)) if cell == "lstm" else torch.tensor(state[0])
    expected = theirs(torch.tensor(inputs), first)
    agree(ours(inputs, state)[1], expected if cell == "lstm" else [expected])


@pytest.mark.parametrize("cell", RECURRENT)
def test_recurrent_stack(agree, cell):
    inputs, *state = draw((B, T, D), *[(2, B, H)] * (2 if cell == "lstm" else 1))
    theirs = randomize(getattr(torch.nn, RECURRENT[cell])(D, H, num_layers=2, batch_first=True))
    stack = RecurrentStack(H, cell, num_layers=2)
    layers = [ops.convert_to_tensor(part[i]) for i in range(2) for part in state]
    stack(inputs, layers)
    for i, ours in enumerate(stack.cells):
        take_recurrent(ours, theirs, f"_l{i}")
    first = tuple(tensors(*state)) if cell == "lstm" else torch.tensor(state[0])
    expected, last = theirs(torch.tensor(inputs), first)
    outputs, *states = stack(inputs, layers)
    last = torch.stack(last) if cell == "lstm" else last[None]  # s and c, by layer
    agree(
        [outputs, np.array([numbers(part) for part in states])],
        [expected, last.swapaxes(0, 1).flatten(0, 1)],
    )


@pytest.mark.parametrize("cell", RECURRENT)
def test_bidirectional_encoder(agree, cell):
    (inputs,) = draw((B, S, D))
    theirs = getattr(torch.nn, RECURRENT[cell])(D, H, num_layers=2, batch_first=True, bidirectional=True)
    randomize(theirs)
    encoder = BidirectionalEncoder(H, cell, num_layers=2)
    encoder(inputs)
    for i in range(2):
        take_recurrent(encoder.left_to_right[i].cells[0], theirs, f"_l{i}")
        take_recurrent(encoder.right_to_left[i].cells[0], theirs, f"_l{i}_reverse")
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        torch.tensor(inputs), torch.tensor(LENGTHS), batch_first=True
    )
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    annotations, first_backward = encoder(inputs, mask=MASK)
    agree([annotations, first_backward], [expected, expected[:, 0, H:]])


# --- Joey NMT


@pytest.fixture
def joeynmt():
    return pytest.importorskip("joeynmt")


def attention_pair(kind, query, key):
    """One of our attentions and Joey NMT's, and which weight is which."""
    from joeynmt import attention

    if kind == "luong":
        ours, theirs = LuongAttention("general"), attention.LuongAttention(query, key)
        return ours, theirs, lambda theirs: dense(ours.W_a, theirs.key_layer)
    ours, theirs = BahdanauAttention(query), attention.BahdanauAttention(query, key, query)

    def weights(theirs):
        for name, part in (("W_q", "query"), ("W_k", "key"), ("v", "energy")):
            yield from dense(getattr(ours, name), getattr(theirs, f"{part}_layer"))

    return ours, theirs, weights


@pytest.mark.parametrize("kind", ["bahdanau", "luong"])
def test_attention_of_joey_nmt(joeynmt, agree, kind):
    query, value = draw((B, 1, D), (B, S, F))
    ours, theirs, weights = attention_pair(kind, D, F)
    ours(query, value)
    take(weights(randomize(theirs)))
    memory = torch.tensor(value)
    theirs.compute_proj_keys(memory)
    expected = theirs(torch.tensor(query), torch.tensor(MASK)[:, None], memory)
    agree(ours(query, value, value_mask=MASK), expected)


def test_multi_head_attention_of_joey_nmt(joeynmt, agree):
    from joeynmt.transformer_layers import MultiHeadedAttention

    query, value = draw((B, T, D), (B, S, D))
    layer, theirs = MultiHeadAttention(H, D // H), randomize(MultiHeadedAttention(H, D, dropout=0.0))
    layer(query, value)
    for name, part in zip("qkvo", ("q", "k", "v", "output"), strict=True):
        take(dense(getattr(layer, f"W_{name}"), getattr(theirs, f"{part}_layer")))
    memory = torch.tensor(value)
    expected = theirs(memory, memory, torch.tensor(query), torch.tensor(MASK)[:, None], return_weights=True)
    context, weights = layer(query, value, value_mask=MASK)
    agree([context, ops.mean(weights, axis=1)], expected)


@pytest.mark.parametrize("input_feeding", [True, False])
@pytest.mark.parametrize(("kind", "cell"), [("luong", "lstm"), ("bahdanau", "gru_reset_after")])
def test_decoder_of_joey_nmt(joeynmt, agree, kind, cell, input_feeding):
    """A whole decoder, two layers with attention on top: theirs steps, ours runs in a loop or all at once."""
    from types import SimpleNamespace

    from joeynmt.decoders import RecurrentDecoder

    inputs, memory, first = draw((B, T, F), (B, S, F + 1), (2, B, D))
    theirs = randomize(
        RecurrentDecoder(
            rnn_type=RECURRENT[cell].lower(),
            emb_size=F,
            hidden_size=D,
            encoder=SimpleNamespace(output_size=F + 1),
            attention=kind,
            num_layers=2,
            vocab_size=2,
            init_hidden="zero",
            input_feeding=input_feeding,
        )
    )
    torch.nn.init.zeros_(theirs.att_vector_layer.bias)  # the paper has none
    attention, _, weights = attention_pair(kind, D, F + 1)
    decoder = LuongDecoder(attention, D, cell, num_layers=2, input_feeding=input_feeding)
    state = [ops.convert_to_tensor(part) for part in first for _ in range(2 if cell == "lstm" else 1)]
    decoder(inputs, memory, state)
    take(weights(theirs.attention))
    C = take_recurrent(decoder.stack.cells[0], theirs.rnn, "_l0", inputs=F)
    take_recurrent(decoder.stack.cells[1], theirs.rnn, "_l1")
    if input_feeding:
        decoder.C.kernel.assign(C)
    hidden, context = np.split(numbers(theirs.att_vector_layer.weight).T, [D])
    decoder.W_c.kernel.assign(np.concatenate([context, hidden]))
    start = torch.tensor(first).swapaxes(0, 1)
    *_, weights, expected = theirs(
        torch.tensor(inputs),
        torch.tensor(memory),
        None,
        torch.tensor(MASK)[:, None],
        unroll_steps=T,
        hidden=(start, start) if cell == "lstm" else start,
    )
    agree(decoder(inputs, memory, state, memory_mask=MASK), [expected, weights])

"""GNMT against numbers that NVIDIA's PyTorch example printed."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import GNMT
from keraszoo.search import SearchOptions, beam_search, greedy_search

FILE = "nvidia_gnmt.npz"
CASES = "padded", "full"
LAYERS = 4


@pytest.fixture(scope="module")
def model(numbers):
    """Their model: the context of this step, no scaled embeddings, one embedding for both sides."""
    theirs = {name.removeprefix("weights/"): x for name, x in numbers.items() if name.startswith("weights/")}
    sizes = {"embedding_dim": 16, "units": 16, "num_layers": LAYERS, "share_embeddings": True}
    model = GNMT(40, **sizes, context="current", scale_embeddings=False)
    model.build()

    def lstm(cell, name, end=""):
        cell.W.kernel.assign(theirs.pop(f"{name}.weight_ih_l0{end}").T)
        cell.U.kernel.assign(theirs.pop(f"{name}.weight_hh_l0{end}").T)
        cell.W.bias.assign(sum(theirs.pop(f"{name}.bias_{kind}_l0{end}") for kind in ("ih", "hh")))

    model.target_embedding.embeddings.assign(theirs.pop("encoder.embedder.weight"))
    lstm(model.encoder.left_to_right[0].cells[0], "encoder.rnn_layers.0")
    lstm(model.encoder.right_to_left[0].cells[0], "encoder.rnn_layers.0", "_reverse")
    lstm(model.decoder.first.cell, "decoder.att_rnn.rnn")
    for i in range(LAYERS - 1):
        lstm(model.upper.cells[i], f"encoder.rnn_layers.{i + 1}")
        lstm(model.decoder.stack.cells[i], f"decoder.rnn_layers.{i}")
    attention = model.decoder.first.attention
    attention.W_q.kernel.assign(theirs.pop("decoder.att_rnn.attn.linear_q.weight").T)
    attention.W_k.kernel.assign(theirs.pop("decoder.att_rnn.attn.linear_k.weight").T)
    attention.v.kernel.assign(theirs.pop("decoder.att_rnn.attn.linear_att")[:, None])
    attention.g.assign(theirs.pop("decoder.att_rnn.attn.normalize_scalar")[0])
    attention.W_k.bias.assign(theirs.pop("decoder.att_rnn.attn.normalize_bias"))
    model.output_layer.kernel.assign(theirs.pop("decoder.classifier.classifier.weight").T)
    model.output_layer.bias.assign(theirs.pop("decoder.classifier.classifier.bias"))
    assert not theirs
    return model


def agree(ours, theirs, words=None):
    """Compares at real positions."""
    ours, words = ops.convert_to_numpy(ours), slice(None) if words is None else words
    np.testing.assert_allclose(ours[words], theirs[words], atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_memory_logits_and_attention_equal_nvidia(model, numbers, case):
    of = {name.removeprefix(f"{case}/"): x for name, x in numbers.items()}
    source, target_in = of["source_ids"], of["decoder_input_ids"]
    words = np.arange(target_in.shape[1]) < of["target_lengths"][:, None]
    agree(model.encode(source)["memory"], of["encoder_output"], source != 0)
    logits, attention_weights = model((source, target_in), return_attention_weights=True)
    agree(logits, of["logits"], words)
    agree(attention_weights, of["attention"], words)


@pytest.mark.parametrize("case", CASES)
def test_greedy_steps_and_states_equal_nvidia(model, numbers, case):
    of = {name.removeprefix(f"{case}/"): x for name, x in numbers.items()}
    state = model.initial_state(model.encode(of["source_ids"]))
    tokens = of["decoder_input_ids"][:, 0]
    for t in range(5):
        logits, state = model.step(tokens, state)
        agree(logits, of["greedy_logits"][:, t])
        agree(state["attention_weights"], of["greedy_attention"][:, t])
        tokens = np.argmax(ops.convert_to_numpy(logits), axis=-1)
        np.testing.assert_array_equal(tokens, of["greedy_ids"][:, t])
        if t in (0, 4):
            agree(ops.stack(state["recurrent"]), of[f"greedy_hidden_after_step_{t + 1}"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [1, 4])
def test_translations_equal_nvidia(model, numbers, case, width):
    of = {name.removeprefix(f"{case}/"): x for name, x in numbers.items()}
    search, theirs = (greedy_search, "greedy") if width == 1 else (beam_search, "beam4")
    options = SearchOptions(
        width, max_length=15, length_penalty=0.6, normalization="gnmt", coverage_penalty=0.1
    )
    best = search(model, model.encode(of["source_ids"]), options, 2, 3, lengths=[15] * 3)
    ours, lengths = ops.convert_to_numpy(best.tokens)[:, 0], of[f"{theirs}_translation_lengths"]
    for tokens, right, length in zip(ours, of[f"{theirs}_translation"], lengths, strict=True):
        np.testing.assert_array_equal(tokens[: length - 1], right[1:length])

"""The snippets of the migration pages run, and their results equal those of the other packages."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest

from keraszoo.layers import BahdanauAttention, LuongAttention

ROOT = Path(__file__).parent.parent
NUMBERS = Path(__file__).parent / "parity" / "data" / "tensorflow_addons_attention.npz"
MARIAN = ROOT.parent / "shared" / "parity" / "marian_tiny_directory"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(name):
    """Runs the snippets of a page; returns the names that they define."""
    names = {}
    for text in FENCE.findall((ROOT / "docs" / "coming_from" / f"{name}.md").read_text("utf-8")):
        exec(compile(text.replace("hf://Helsinki-NLP/opus-mt-en-de", str(MARIAN)), name, "exec"), names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def addons():
    return run_page("tensorflow_addons")


def test_the_tensorflow_addons_page_runs(addons):
    assert addons["alignments"].shape == addons["attention_weights"].shape == (3, 4, 5)
    assert addons["hypotheses"].tokens.shape == (2, 2, 6)
    assert addons["best"].shape == (3, 5)


@pytest.mark.parametrize("name", ["bahdanau", "bahdanau_normalized", "luong", "luong_scaled"])
@pytest.mark.parametrize("part", ["plain", "attention_layer"])
def test_the_decode_loop_equals_attention_wrapper(addons, name, part):
    numbers = np.load(NUMBERS)
    prefix = f"{name}/{part}/"
    of_part = f"{prefix}weights/"
    weights = {key.removeprefix(of_part): numbers[key] for key in numbers if key.startswith(prefix)}
    scaled = "attention_g" in weights
    units = weights["memory_kernel"].shape[1]
    bahdanau = name.startswith("bahdanau")
    attention = BahdanauAttention(units, normalize=scaled) if bahdanau else LuongAttention(scale=scaled)
    memory, inputs = numbers["memory"], numbers["inputs"]
    attention.build((None, 10), (None, None, memory.shape[-1]))
    if bahdanau:
        attention.W_q.kernel.assign(weights["query_kernel"])
        attention.v.kernel.assign(weights["attention_v"][:, None])
    memory_layer = attention.W_k if bahdanau else attention.W_a
    memory_layer.kernel.assign(weights["memory_kernel"])
    if scaled:
        attention.g.assign(weights["attention_g"])
        if bahdanau:
            memory_layer.bias.assign(weights["attention_b"])
    cell, layer = keras.layers.LSTMCell(10), None
    cell.build((None, weights["lstm_kernel"].shape[0]))
    cell.set_weights([weights[f"lstm_{part}"] for part in ("kernel", "recurrent_kernel", "bias")])
    if part == "attention_layer":
        layer = keras.layers.Dense(9, use_bias=False)
        layer.build((None, weights["attention_layer_kernel"].shape[0]))
        layer.set_weights([weights["attention_layer_kernel"]])
    mask, state = np.arange(5) < numbers["memory_lengths"][:, None], [np.zeros((3, 10), "float32")] * 2
    outputs, alignments = addons["decode"](cell, attention, layer, inputs, memory, mask, state)
    for ours, theirs in ((outputs, "outputs"), (alignments, "alignments")):
        np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), numbers[prefix + theirs], atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*does not support masking:UserWarning")  # LSTM of Keras 3.16
def test_the_keras_contrib_page_runs():
    names = run_page("keras_contrib")
    probabilities = names["probabilities"]
    assert names["best"].shape == (64, 9) and probabilities.shape == (64, 9, 3)
    np.testing.assert_allclose(probabilities.sum(-1), names["words"] > 0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(not MARIAN.exists(), reason="the model is not part of the repository")
def test_the_transformers_page_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = run_page("transformers")
    assert len(names["hypotheses"]) == 3 and names["tagger"]

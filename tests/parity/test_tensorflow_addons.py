"""Attention against numbers that tensorflow-addons printed."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import BahdanauAttention, LuongAttention

FILE = "tensorflow_addons_attention.npz"
NAMES = "bahdanau", "bahdanau_normalized", "luong", "luong_scaled"


def layer_of(name, numbers, part="plain"):
    """The layer, with the weights of theirs."""
    kind, _, option = name.partition("_")
    layer = BahdanauAttention(7, normalize=bool(option))
    if kind == "luong":
        layer = LuongAttention("general", scale=bool(option))
    memory, query = numbers["memory"], numbers["query"]
    layer.build((None, query.shape[-1]), (None, None, memory.shape[-1]))
    prefix = f"{name}/{part}/weights/"
    weights = {key.removeprefix(prefix): x for key, x in numbers.items() if key.startswith(prefix)}
    if kind == "luong":
        layer.W_a.kernel.assign(weights["memory_kernel"])
    else:
        layer.W_k.kernel.assign(weights["memory_kernel"])
        layer.W_q.kernel.assign(weights["query_kernel"])
        layer.v.kernel.assign(weights["attention_v"][:, None])
        if option:
            layer.W_k.bias.assign(weights["attention_b"])
    if option:
        layer.g.assign(weights["attention_g"])
    return layer


def agree(ours, *theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(a), b, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("masked", ["", "full_", "holes_"])
def test_one_query(numbers, name, masked):
    lengths = np.arange(5) < numbers["memory_lengths"][:, None]
    mask = {"": lengths, "full_": None, "holes_": numbers["memory_mask_with_holes"]}[masked]
    layer, prefix = layer_of(name, numbers), f"{name}/{masked}query"
    outputs = layer(numbers["query"], numbers["memory"], value_mask=mask)
    agree(outputs, numbers[f"{prefix}_context"], numbers[f"{prefix}_alignments"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", ["plain", "attention_layer"])
def test_the_queries_of_a_decoder(numbers, name, part):
    mask = np.arange(5) < numbers["memory_lengths"][:, None]
    layer, prefix = layer_of(name, numbers, part), f"{name}/{part}"
    expected = numbers[f"{prefix}/context"], numbers[f"{prefix}/alignments"]
    queries, memory = numbers[f"{prefix}/cell_h"], numbers["memory"]
    agree(layer(queries, memory, value_mask=mask), *expected)
    prepared = layer.prepare(memory)
    for t in range(queries.shape[1]):
        step = layer(queries[:, t], prepared=prepared, value_mask=mask)
        agree(step, *(x[:, t] for x in expected))

"""The mixture of experts against numbers that tensor2tensor printed."""

import numpy as np
import pytest
from keras import ops

from keraszoo.layers import MixtureOfExperts
from keraszoo.layers.mixture_of_experts import cv_squared

FILE = "tensor2tensor_experts.npz"
N, K = 6, 2
RESCALED = (12 / 8) ** -0.5  # they scale the outputs of layers of another width than the model's


@pytest.fixture
def layer(numbers):
    layer = MixtureOfExperts(N, 12, K, importance_loss=0.01, load_loss=0.01, output_dim=5)
    layer.build(numbers["x"].shape)
    layer.W_g.kernel.assign(numbers["w_gate"])
    layer.W_noise.kernel.assign(numbers["w_noise"])
    layer.W_1.kernel.assign(numbers["experts_w_0"])
    layer.W_2.kernel.assign(numbers["experts_w_1"] * RESCALED)
    return layer


def dense_gates(layer, gates, experts):
    dense = np.zeros((len(gates), N), "float32")
    np.put_along_axis(dense, ops.convert_to_numpy(experts), ops.convert_to_numpy(gates), axis=1)
    return dense


def agree(ours, theirs):
    np.testing.assert_allclose(ops.convert_to_numpy(ours), theirs, atol=1e-5 * max(1, np.abs(theirs).max()))


CASES = {
    "train": ("train", True, False),
    "eval": ("eval", False, False),
    "clean": ("without_noise", False, False),
}
CASES |= {"zero, train": ("zero_weights_train", True, True), "zero, eval": ("zero_weights_eval", False, True)}


@pytest.mark.parametrize("case", CASES)
def test_gates_importance_and_load_equal_tensor2tensor(layer, numbers, case):
    prefix, noisy, zero = CASES[case]
    if zero:
        layer.W_g.kernel.assign(np.zeros((8, N)))
        layer.W_noise.kernel.assign(np.zeros((8, N)))
    rows = numbers["x"].reshape(12, 8)
    gates, experts, load = layer.gate(rows, numbers["noise"] if noisy else None)
    dense = dense_gates(layer, gates, experts)
    agree(dense, numbers[f"{prefix}/gates"])
    if f"{prefix}/importance" in numbers:
        agree(dense.sum(0), numbers[f"{prefix}/importance"])
    if not prefix.endswith("eval"):  # where theirs is of a noise of no deviation
        agree(load, numbers[f"{prefix}/load"])


@pytest.mark.parametrize("case", ["train", "eval"])
def test_outputs_equal_tensor2tensor(layer, numbers, case, monkeypatch):
    noise = numbers["noise"] if case == "train" else None
    rows = numbers["x"].reshape(12, 8)
    gates, experts, _ = layer.gate(rows, noise)
    agree(layer.mix(rows, gates, experts), numbers[f"{case}/output_ffn_experts"].reshape(12, 5))
    if noise is None:
        agree(layer(numbers["x"]), numbers["eval/output_ffn_experts"])
    linear = numbers["linear_experts_w"]
    monkeypatch.setattr(layer, "compute", lambda x, training=None: ops.matmul(x, linear))
    agree(layer.mix(rows, gates, experts), numbers[f"{case}/output_linear_experts"].reshape(12, 5))


def test_squared_coefficient_of_variation_equals_tensor2tensor(numbers):
    agree(cv_squared(numbers["cv_squared_examples_input"]), numbers["cv_squared_examples_output"])
    for case in ("train", "without_noise"):
        for name in ("importance", "load"):
            agree(cv_squared(numbers[f"{case}/{name}"]), numbers[f"{case}/cv_squared_{name}"])


def test_loss_and_gate_gradients_equal_tensor2tensor(layer, numbers, monkeypatch):
    tf = pytest.importorskip("tensorflow")
    monkeypatch.setattr("keras.random.normal", lambda *_, **__: ops.convert_to_tensor(numbers["noise"]))
    gate = [layer.W_g.kernel.value, layer.W_noise.kernel.value]
    with tf.GradientTape(persistent=True) as tape:
        outputs = layer(numbers["x"], training=True)
        (loss,) = layer.losses
        total = ops.sum(outputs)
    agree(outputs, numbers["train/output_ffn_experts"])
    agree(loss, numbers["train/loss"])
    for target, name in ((loss, "loss"), (total, "sum_output_ffn")):
        for ours, weight in zip(tape.gradient(target, gate), ("w_gate", "w_noise"), strict=True):
            theirs = numbers[f"train/grad_{name}_{weight}"]
            np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())

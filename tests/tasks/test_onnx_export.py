"""Functions of TensorFlow as ONNX graphs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keraszoo.errors import KerasZooError
from keraszoo.tasks.onnx_export import graph_of

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("tf2onnx")


def exported(activation):
    """The graph of an activation."""
    function = keras.activations.get(activation)
    specs = {"x": tf.TensorSpec((None, 5), "float32", "x")}
    return graph_of(keras.Sequential(), lambda x: {"y": function(x)}, specs)


def test_gelu_is_exact():
    x = np.linspace(-6, 6, 20, dtype="float32").reshape(4, 5)
    (y,) = onnxruntime.InferenceSession(exported("gelu")).run(None, {"x": x})
    np.testing.assert_allclose(y, keras.activations.gelu(x), atol=1e-6)


def test_operations_without_onnx_are_refused():
    with pytest.raises(KerasZooError, match="the model cannot be exported as ONNX: .* Expm1"):
        exported("celu")

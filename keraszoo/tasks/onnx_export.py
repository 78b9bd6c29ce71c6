"""Functions of TensorFlow as graphs for ONNX Runtime, and the directory of an ONNX export."""

import keras
import numpy as np

from keraszoo.errors import KerasZooError, import_extra
from keraszoo.messages import one_line
from keraszoo.tasks.export import check_export, replace_export, write_mark

OPSET = 18


def write_onnx(directory, files, about):
    """Writes an ONNX export, see `replace_export`: bytes by name, and `about` as `keraszoo.json`."""
    with replace_export(directory) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)
        write_mark(place, {**about, "format": "onnx"})


def check_onnx(task, directory):
    """Raises KerasZooError before any work: no ONNX, an unsupported model, or another directory."""
    for module in ("onnxruntime", "tf2onnx"):
        import_extra(module, "onnx")
    check_export(directory)
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise KerasZooError(f"an ONNX export needs TensorFlow, the backend is {backend}")
    for policy in (model.dtype_policy.name for model in task.model.members()):
        if policy != "float32":
            raise KerasZooError(f"an ONNX export needs a float32 model, the precision is {policy}")
    if any(layer.quantization_mode == "float8" for layer in task.model._flatten_layers()):
        raise KerasZooError("an ONNX export has no float8: quantize to int8")


def graph_of(model, function, specs):
    """The bytes of an ONNX graph of a function, which takes tensors by name and returns a dict of them.

    tf2onnx copies all constants many times, so it gets the weights of the `model` as inputs, which are filled
    in afterwards. `specs` maps names to `tf.TensorSpec`. Raises KerasZooError if ONNX Runtime cannot read the
    graph: tf2onnx copies operations that it does not know.
    """
    import onnx
    import tensorflow as tf

    weights = {f"weight_{i}": variable for i, variable in enumerate(model.weights)}
    inputs = {name: tf.TensorSpec(weight.shape, weight.dtype, name) for name, weight in weights.items()}
    signature = [{**specs, **inputs}]

    @tf.function(input_signature=signature, autograph=False)
    def with_weights(tensors):
        values = [(weight, tensors[name]) for name, weight in weights.items()]
        with keras.StatelessScope(state_mapping=values):
            return function(**{name: tensors[name] for name in specs})

    convert, handlers = import_extra("tf2onnx", "onnx").convert, {"Erfc": (_erfc, [])}
    proto, _ = convert.from_function(with_weights, signature, opset=OPSET, custom_op_handlers=handlers)
    kept, used = [one for one in proto.graph.input if one.name in specs], names_read(proto.graph)
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    arrays = {name: keras.ops.convert_to_numpy(weights[name]) for name in weights if name in used}
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()
    )
    graph = proto.SerializeToString()
    try:
        import_extra("onnxruntime", "onnx").InferenceSession(graph, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a class for each of its codes
        raise KerasZooError(f"the model cannot be exported as ONNX: {one_line(error)}") from error
    return graph


def _erfc(graph, node, name, _):
    """Replaces the operation of `gelu`, which tf2onnx does not know: erfc(x) = 1 - erf(x)."""
    erf = graph.make_node("Erf", node.input)
    one = graph.make_const(f"{name}_one", np.ones((), "float32"))
    graph.remove_node(node.name)
    graph.make_node("Sub", [one.output[0], erf.output[0]], outputs=node.output, name=name)


def names_read(graph):
    """The names of all tensors that the nodes of an ONNX graph read, those of loops included."""
    inner = [part.g for node in graph.node for part in node.attribute if part.HasField("g")]
    return {name for node in graph.node for name in node.input}.union(*map(names_read, inner))

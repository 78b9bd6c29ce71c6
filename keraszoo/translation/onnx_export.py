"""A translator for ONNX Runtime: text in, text out, with only NumPy, onnxruntime and sentencepiece.

docs/export.md lists the files, the inputs and the outputs. The names of the state are those of its nested
structure, such as `cache_0_1`.
"""

from pathlib import Path

import keras
import numpy as np

from keraszoo.errors import KerasZooError, import_extra
from keraszoo.search import SearchOptions
from keraszoo.tasks.onnx_export import check_onnx, graph_of, write_onnx
from keraszoo.translation import directory as translator_directory
from keraszoo.translation import onnx_program
from keraszoo.translation.graph_loop import free_shapes

ROOM = 16  # positions that a state has room for, and by which a search lengthens it


def export(translator, directory):
    """Writes the directory; see `Task.export`. The model must be in float32."""
    check_onnx(translator, directory)
    import tensorflow as tf

    model = translator.model

    def initial(source):
        return model.initial_state(model.encode(source), 1, ROOM)

    def encode(source):
        return named(initial(source))

    def nested(state):
        return keras.tree.pack_sequence_as(example, list(state.values()))

    def changed(after, state):
        return {f"next_{name}": x for name, x in named(after).items() if x is not state[name]}

    def step(tokens, **state):
        logits, after = model.step(tokens, nested(state))
        return {"logits": logits, **changed(after, state)}

    def lengthen(**state):
        return changed(model.lengthen(nested(state), ROOM), state)

    source = tf.TensorSpec([None, None], tf.int32, "source")
    example = initial(np.full((1, 2), translator.source_subwords.end_id, "int32"))
    specs = tf.function(encode).get_concrete_function(source).structured_outputs
    shapes = named(free_shapes(model, nested(specs)))
    specs = {name: tf.TensorSpec(shapes[name], spec.dtype, name) for name, spec in specs.items()}
    tokens = tf.TensorSpec([None], tf.int32, "tokens")
    config, files, *_ = translator_directory.contents(translator, portable=True)
    search = config.pop("search")
    graphs = {
        "encode.onnx": graph_of(model, encode, {"source": source}),
        "step.onnx": graph_of(model, step, {"tokens": tokens, **specs}),
    }
    if lengthen(**named(example)):  # a recurrent state has room for any length
        graphs["lengthen.onnx"] = graph_of(model, lengthen, specs)
    program = {"translate.py": Path(onnx_program.__file__).read_bytes()}
    about = {"task": "translation", **config, "max_length": search["max_length"], "room": ROOM}
    write_onnx(directory, {**graphs, **files, **program}, about)


def named(state):
    """A nested state as a dict of tensors by name, such as `cache_0_1`."""
    return {"_".join(map(str, path)): x for path, x in keras.tree.flatten_with_path(state)}


def verify(translator, directory, texts):
    """Translates with the program of an export and compares with greedy search; see `Task.verify_export`."""
    import_extra("onnxruntime", "onnx")
    plain = SearchOptions(beam_width=1, max_length=translator.search.max_length)
    answers = translator.translate(texts, **plain.as_dict())
    others = onnx_program.Translator(directory).translate(texts)
    for number, (ours, theirs) in enumerate(zip(answers, others, strict=True), start=1):
        if ours != theirs:
            raise KerasZooError(
                f"{directory}: text {number} is translated to {theirs!r} by ONNX Runtime, to {ours!r} here"
            )
    return len(texts)

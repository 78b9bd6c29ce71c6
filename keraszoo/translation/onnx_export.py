"""A translator for ONNX Runtime: text in, text out, with only NumPy, onnxruntime and sentencepiece.

docs/export.md lists the files, the inputs and the outputs. The names of the state are those of its nested
structure, such as `cache_0_1`.
"""

from pathlib import Path

import keras
import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions
from keraszoo.tasks.onnx_export import check_onnx, graph_of, import_onnx, write_onnx
from keraszoo.translation import directory as translator_directory
from keraszoo.translation import onnx_program

ROOM = 16  # positions of a Transformer's cache; a search pads it when it is full
GROWING = {"cache": 2, "history": 1}  # the axis of the positions


def export(translator, directory):
    """Writes the directory; see `Task.export`. The model must be in float32."""
    check_onnx(translator, directory)
    import tensorflow as tf

    model = translator.model

    def initial(source):
        return model.initial_state(model.encode(source), 1, ROOM)

    def encode(source):
        return named(initial(source))

    def step(tokens, **state):
        logits, after = model.step(tokens, keras.tree.pack_sequence_as(example, list(state.values())))
        changed = {f"next_{name}": x for name, x in named(after).items() if not name.startswith("memory")}
        return {"logits": logits, **changed}

    source = tf.TensorSpec([None, None], tf.int32, "source")
    example = initial(np.full((1, 2), translator.source_subwords.end_id, "int32"))
    specs = tf.function(encode).get_concrete_function(source).structured_outputs
    specs = {name: tf.TensorSpec(_lengths(name, spec), spec.dtype, name) for name, spec in specs.items()}
    tokens = tf.TensorSpec([None], tf.int32, "tokens")
    config, files, *_ = translator_directory.contents(translator, portable=True)
    search = config.pop("search")
    graphs = {
        "encode.onnx": graph_of(model, encode, {"source": source}),
        "step.onnx": graph_of(model, step, {"tokens": tokens, **specs}),
    }
    program = {"translate.py": Path(onnx_program.__file__).read_bytes()}
    about = {"task": "translation", **config, "max_length": search["max_length"]}
    write_onnx(directory, {**graphs, **files, **program}, about)


def named(state):
    """A nested state as a dict of tensors by name, such as `cache_0_1`."""
    return {"_".join(map(str, path)): x for path, x in keras.tree.flatten_with_path(state)}


def _lengths(name, spec):
    """The shape of a part of the state, of any length."""
    axis = GROWING.get(name.partition("_")[0])
    return [None if i == axis else length for i, length in enumerate(spec.shape)]


def verify(translator, directory, texts):
    """Translates with the program of an export and compares with greedy search; see `Task.verify_export`."""
    import_onnx()
    plain = SearchOptions(beam_width=1, max_length=translator.search.max_length)
    answers = translator.translate(texts, **plain.as_dict())
    others = onnx_program.Translator(directory).translate(texts)
    for number, (ours, theirs) in enumerate(zip(answers, others, strict=True), start=1):
        if ours != theirs:
            raise KerasZooError(
                f"{directory}: text {number} is translated to {theirs!r} by ONNX Runtime, to {ours!r} here"
            )
    return len(texts)

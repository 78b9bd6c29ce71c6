r"""The directory of word vectors, with card and manifest.

words.txt      the words, UTF-8, each followed by "\n"
vectors.npy    float32, float16 or int8 (N, D), little-endian, in C order
scales.npy     with int8: float32 (N,), the factor of each row
"""

import functools

import numpy as np

import keraszoo
from keraszoo.errors import PresetError
from keraszoo.messages import shown
from keraszoo.saving import model_card, model_directory
from keraszoo.shipping import shipped

TASK = "word vectors"  # in the config.json of a directory
STORED = {"float32": "<f4", "float16": "<f2", "int8": "|i1"}  # the types of numbers in a directory


def write_directory(path, words, numbers, dtype):
    """Writes words and their vectors, float32 (N, D); see `WordVectors.save`."""
    if dtype not in STORED:
        raise PresetError(f"word vectors are stored as {', '.join(STORED)}, not as {shown(dtype)}")
    matrix, scales = numbers, None
    if dtype == "int8":
        scales = np.abs(matrix).max(axis=1, initial=1e-30).astype("<f4") / 127
        matrix = np.rint(matrix / scales[:, None])
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(matrix, STORED[dtype])
    if not np.isfinite(matrix).all():
        raise PresetError(f"word vectors: {np.abs(numbers).max():.3g} is too large for {dtype}")
    about = {
        "title": f"Word vectors: {len(words):,} words, {numbers.shape[1]} numbers each",
        "pipeline_tag": "feature-extraction",
        "summary": f"A matrix in {dtype} and its words, the most frequent first; input of taggers.",
        "example": [
            "from keraszoo.text.word_vectors import WordVectors",
            'WordVectors.read("this directory").neighbours("home")',
        ],
        "parameters": matrix.size,
    }
    files = {
        "config.json": {"task": TASK, "versions": {"keraszoo": keraszoo.__version__}, "about": about},
        "words.txt": "".join(f"{word}\n" for word in words),
        "vectors.npy": functools.partial(np.save, arr=matrix, allow_pickle=False),
        "metrics.json": {},
        model_card.CARD: model_card.model_card(about, {}),
    }
    if scales is not None:
        files["scales.npy"] = functools.partial(np.save, arr=scales, allow_pickle=False)
    model_directory.write_directory(path, files)


def read_directory(name):
    """Reads a directory of word vectors, given its path or the name of included vectors: (words, matrix)."""
    directory = model_directory.read_directory(shipped.find(name))
    task = directory.config.get("task")
    if task != TASK:
        raise PresetError(f"{directory.path}: expected a directory for {TASK}, got one for {shown(task)}")
    words = directory.read_text("words.txt").split("\n")
    if words.pop() != "":
        raise PresetError(f"{directory.path}/words.txt: the last line has no end")
    matrix = _read_array(directory, "vectors.npy", 2, STORED.values(), len(words))
    if matrix.dtype == "int8":
        return words, matrix * _read_array(directory, "scales.npy", 1, ["<f4"], len(words))[:, None]
    return words, matrix.astype("float32")


def _read_array(directory, name, axes, types, rows):
    path = directory.file(name)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)  # mapping checks the size before reading
        if array.ndim != axes or array.dtype.str not in types or not array.flags.c_contiguous:
            wanted = " or ".join(str(np.dtype(kind)) for kind in types)
            kind = f"{array.dtype} {array.shape}"
            raise ValueError(f"{kind}; expected {axes} axes of little-endian {wanted} in C order")
    except (OSError, EOFError, ValueError) as error:
        raise PresetError(f"{path}: not the array of word vectors: {error}") from None
    if len(array) != rows:
        raise PresetError(f"{path}: has {len(array)} rows, words.txt has {rows} words")
    return array

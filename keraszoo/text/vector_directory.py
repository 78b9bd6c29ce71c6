r"""Word vectors in keraszoo's own form: two files of a model directory, or a directory of their own.

    words.txt      the words, UTF-8, each ended by "\n"
    vectors.npy    float32 or float16 (N, D), little-endian, in C order: NumPy's own format without its pickle

The manifest of the directory vouches for both. A blank may be part of a word here.
"""

import numpy as np

import keraszoo
from keraszoo.errors import PresetError
from keraszoo.saving import model_directory, model_facts
from keraszoo.shipping import shipped

TASK = "word vectors"
WORDS = "words.txt"
MATRIX = "vectors.npy"
DTYPES = ("float32", "float16")


def vector_files(vectors, dtype="float32", prefix=""):
    """Returns the two files as `model_directory.write_directory` takes them.

    Args:
        vectors: `WordVectors`.
        dtype: `"float32"`, or `"float16"` at half the size: numbers are rounded to 11 bits.
        prefix: of the names, `"vectors/"` for one.

    Raises:
        PresetError: another `dtype`, or numbers too large for it.

    Example:

    >>> from keraszoo.text.word_vectors import WordVectors
    >>> sorted(vector_files(WordVectors(["zoo"], [[1.0, 2.0]]), prefix="vectors/"))
    ['vectors/vectors.npy', 'vectors/words.txt']
    """
    if dtype not in DTYPES:
        raise PresetError(f"word vectors are stored as float32 or float16, not as {dtype!r}")
    with np.errstate(over="ignore"):
        matrix = np.ascontiguousarray(vectors.matrix, np.dtype(dtype).newbyteorder("<"))
    if not np.isfinite(matrix).all():
        raise PresetError(f"word vectors: {np.abs(vectors.matrix).max():.3g} is too large for {dtype}")

    def write_matrix(path):
        with open(path, "wb") as file:
            np.lib.format.write_array(file, matrix, version=(1, 0), allow_pickle=False)

    return {
        f"{prefix}{WORDS}": "".join(f"{word}\n" for word in vectors.words),
        f"{prefix}{MATRIX}": write_matrix,
    }


def read_vector_files(directory, prefix=""):
    """Reads the two files of a directory that was checked against its manifest.

    Args:
        directory: a `model_directory.Directory`.
        prefix: of the names.

    Returns:
        (words, matrix): list of N str; float32 (N, D).

    Raises:
        PresetError: a file is missing or not what it ought to be; the message names it.
    """
    try:
        words = directory.read_bytes(f"{prefix}{WORDS}").decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise PresetError(f"{directory.path}/{prefix}{WORDS}: not UTF-8") from None
    if words.pop() != "":
        raise PresetError(f"{directory.path}/{prefix}{WORDS}: the last line has no end")
    matrix = _read_matrix(directory.file(f"{prefix}{MATRIX}"))
    if len(matrix) != len(words):
        path = f"{directory.path}/{prefix}{MATRIX}"
        raise PresetError(f"{path}: has {len(matrix)} rows, {WORDS} has {len(words)} words")
    return words, matrix


def write(vectors, path, dtype="float32", metrics=None, facts=None):
    """Writes a directory of word vectors, with a card, whole or not at all; see `WordVectors.save`."""
    told = {
        "title": f"Word vectors: {len(vectors):,} words, {vectors.width} numbers each",
        "pipeline_tag": "feature-extraction",
        "summary": f"A matrix in {dtype} and its words, the most frequent first; for taggers to stand on.",
        "example": [
            "from keraszoo.text.word_vectors import WordVectors",
            'WordVectors.read("this directory").neighbours("home")',
        ],
        "parameters": vectors.matrix.size,
        **model_facts.check_facts(facts or {}, path),
    }
    files = {
        "config.json": {"task": TASK, "versions": {"keraszoo": keraszoo.__version__}, "about": told},
        **vector_files(vectors, dtype),
        "metrics.json": metrics or {},
        model_facts.CARD: model_facts.card(told, metrics or {}),
    }
    model_directory.write_directory(path, files)


def read(name):
    """Reads a directory of word vectors, by its path or the name of a shipped one: (words, matrix)."""
    directory = model_directory.read_directory(shipped.find(name))
    task = directory.config.get("task")
    if task != TASK:
        raise PresetError(f"{directory.path}: expected a directory for {TASK}, got one for {task!r}")
    return read_vector_files(directory)


def _read_matrix(path):
    """The array of an `.npy` file; what its header says is checked before anything is allocated."""
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError(f"version {version} of the format")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=1000)
            if (
                fortran
                or len(shape) != 2
                or dtype not in [np.dtype(name).newbyteorder("<") for name in DTYPES]
            ):
                raise ValueError(f"{dtype} {shape}; expected two axes of little-endian float32 or float16")
            size = shape[0] * shape[1] * dtype.itemsize
            if min(shape) < 0 or path.stat().st_size - file.tell() != size:
                raise ValueError(f"{shape} numbers do not fit the length of the file")
            matrix = np.frombuffer(file.read(size), dtype).reshape(shape).astype("float32")
    except OSError as error:
        raise PresetError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise PresetError(f"{path}: not the array of word vectors: {error}") from None
    return matrix

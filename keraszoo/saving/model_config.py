"""A model out of `config.json`, whoever wrote it: nothing large is made before it is known to fit.

    "model": {"class": "RNNSearch", "config": {"source_vocabulary_size": 10000, "units": 256, ...}}

The class is one of a list, its arguments are plain numbers and words, and before a weight is made, the shapes
of all of them are compared with those in the weight file: a size of 10^12 costs no memory.
"""

import math
import threading

import keras

from keraszoo.errors import PresetError
from keraszoo.saving.weights import stored_shapes

PLAIN = (int, float, str, type(None))  # and bool, which is an int
MOST_NUMBER = 1 << 31  # no size, id or count of a model is larger


def make_model(directory, kinds, weights="model.weights.h5", extra=None):
    """Makes the model of a directory, its weights not loaded yet.

    Args:
        directory: a `model_directory.Directory`.
        kinds: dict of name -> class: whatever may be made.
        weights: name of the weight file that the model must fit.
        extra: dict of arguments that do not stand in `config.json`, and must not.

    Returns:
        A model, not built unless its class does so.

    Raises:
        PresetError: another class, an argument that it does not have or that is no plain number or word,
            arguments of which it makes no model, or a model whose weights have other shapes than the file's.
    """
    where = f"{directory.path}: config.json"
    entry = directory.config.get("model")
    kind, arguments = (entry.get("class"), entry.get("config")) if isinstance(entry, dict) else (None, None)
    if not isinstance(kind, str) or kind not in kinds:
        raise PresetError(f"{where}: there is no model {_short(kind)}")
    kind = kinds[kind]
    shapes = stored_shapes(directory.file(weights))
    if isinstance(arguments, dict):  # older versions stored other names
        arguments = {kind.renamed_arguments.get(name, name): value for name, value in arguments.items()}
    _check_arguments(kind, arguments, len(shapes), where, extra or {})
    arguments = {**arguments, **(extra or {})}
    wanted = _in_own_thread(lambda: _shapes(kind, arguments), where)
    if sorted(wanted) != sorted(shapes):
        raise PresetError(f"{where} makes a model of {_total(wanted)}, {weights} holds {_total(shapes)}")
    return kind(**arguments)


def _check_arguments(kind, arguments, arrays, where, extra):
    if not isinstance(arguments, dict):
        raise PresetError(f"{where}: expected the arguments of {kind.__name__}, got {_short(arguments)}")
    known = kind.constructor_parameters().keys() - set(extra)
    for name, value in arguments.items():
        if name not in known:  # of Keras' own, such as dtype, none is ever written
            raise PresetError(f"{where}: {kind.__name__} has no argument {_short(name)}")
        if not isinstance(value, PLAIN):
            raise PresetError(f"{where}: {name} must be a number, a word or null, got {_short(value)}")
        if isinstance(value, (int, float)) and abs(value) > MOST_NUMBER:
            raise PresetError(f"{where}: {name} is {_short(value)}, which no model has")
        # Layers are Python objects before they are weights: a million of them would take minutes to make.
        if name.endswith(("layers", "hops")) and isinstance(value, int) and value > arrays:
            raise PresetError(f"{where}: {name} is {value}, but the weight file has {arrays} arrays")


class _Build(keras.Operation):
    """Builds a model when it is traced: variables get their shapes, and nobody computes their values."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self):
        self.model.build()
        return keras.ops.zeros(())


def _shapes(kind, arguments):
    with keras.StatelessScope(initialize_variables=False):
        model = kind(**arguments)
        if not model.built:
            _Build(model).compute_output_spec()
        return [tuple(variable.shape) for variable in model.weights]


def _in_own_thread(function, where):
    """What a function returns.

    Keras keeps variables that wait for their values by thread, and would make them all at the next occasion.
    In a thread of its own they are forgotten with it.
    """
    results = []

    def work():
        try:
            results.append(function())
        except Exception as error:  # whatever Keras or a backend says of arguments that make no sense
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(results[0], Exception):
        said = " ".join(str(results[0]).split())
        raise PresetError(f"{where} is not one of a model: {said:.300}") from results[0]
    return results[0]


def _total(shapes):
    return f"{len(shapes)} weights, {sum(map(math.prod, shapes)):,} numbers"


def _short(value):
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of many digits"
    return text if len(text) <= 60 else f"{text[:57]}..."

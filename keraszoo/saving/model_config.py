"""Create a model from a `config.json` that may come from an untrusted author.

    "model": {"class": "RNNSearch", "config": {"source_vocabulary_size": 10000, "units": 256, ...}}

The one argument of an ensemble, `"models"`, is a list of such entries. The class must be in a list, and its
arguments must have the types of the constructor. The shapes of all weights are compared with those in the
weight file before any weight is created, so a size of 10^12 costs no memory.
"""

from concurrent.futures import ThreadPoolExecutor

import keras

from keraszoo.errors import PresetError
from keraszoo.layers.quantization import INT8_WEIGHTS, quantization_of, quantize
from keraszoo.messages import shown
from keraszoo.saving.entries import Entries, argument_entries, checked
from keraszoo.saving.weights import WEIGHTS, check_shapes, names_of, stored_shapes

QUANTIZING = "_scale", "/g"  # weights that come by `quantize`, and the norms that it multiplies into others


class _Members(Entries):
    models: list[dict]


def make_model(directory, kinds, extra=None):
    """Creates the model of a `model_directory.Directory` without loading its weights.

    `kinds` are the classes that may be created, `extra` arguments that `config.json` must not contain.
    The model is not built unless its class builds itself. Raises PresetError: the class is not in
    `kinds`, an argument is unknown, of another type or out of range, the class rejects the arguments, or
    the shapes of its weights differ from those in the file.
    """
    where, kinds = f"{directory.path}: config.json", {kind.__name__: kind for kind in kinds}
    weights = directory.weights
    entry = directory.config.get("model")
    make = _maker(entry, kinds, len(stored_shapes(weights)), where, extra or {})
    mode = entry.get("quantized")
    if mode not in (None, "int8", INT8_WEIGHTS):
        raise PresetError(f"{where}: quantized: expected int8 or {INT8_WEIGHTS}, got {shown(mode)}")
    wanted = weight_shapes(make, where)
    try:
        check_shapes(weights, wanted, skip=QUANTIZING if mode else ())
    except PresetError as error:
        raise PresetError(f"{where} makes another model than that of the weights: {error}") from error
    model = make()
    if mode:
        if not model.built:
            model.build()
        quantize(model, mode)
    return model


def weight_shapes(make, where):
    """The shapes of the weights of the model that `make` creates, by name, without making any weight.

    Raises PresetError, which names the file `where`, if the model cannot be created.
    """
    # Keras keeps a list of uninitialized variables for each thread and would create them later. The list of a
    # separate thread is dropped when the thread ends.
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(_shapes, make).result()
        except Exception as error:  # any error of Keras or a backend about invalid arguments
            reason = " ".join(str(error).split())
            raise PresetError(f"{where} does not describe a valid model: {reason:.300}") from error


def common_quantization(model):
    """The mode of all matrices of a model, as `quantization_of` names it: one of int8, or `None`.

    Raises PresetError for another mode, or if only some are quantized: the model could not be read again.
    Word vectors that are int8 by an argument of the model do not count.
    """
    kinds = keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding
    own = [member.words.vectors for member in model.members() if getattr(member, "int8_vectors", False)]
    layers = [layer for layer in model._flatten_layers() if isinstance(layer, kinds) and layer not in own]
    modes = {quantization_of(layer) for layer in layers} or {None}
    if modes not in ({None}, {"int8"}, {INT8_WEIGHTS}):
        found = ", ".join(sorted(map(str, modes)))
        raise PresetError(f"a model is saved as it is or with all matrices in int8, not in {found}")
    return modes.pop()


def check_arguments(kind, arguments):
    """Raises PresetError if `make_model` would refuse arguments of a class: another type, or out of range."""
    parameters = kind.constructor_parameters()
    parameters = {name: parameters[name] for name in arguments if name in parameters}
    checked(argument_entries(parameters), arguments, kind.__name__)


def _maker(entry, kinds, arrays, where, extra):
    """Checks the entry of a model; returns a function that creates it."""
    kind, arguments = (entry.get("class"), entry.get("config")) if isinstance(entry, dict) else (None, None)
    if not isinstance(kind, str) or kind not in kinds:
        raise PresetError(f"{where}: there is no model {shown(kind)}")
    kind = kinds[kind]
    if "models" in kind.constructor_parameters():
        members = checked(_Members, arguments, f"{where}: {kind.__name__}").models
        kinds = {name: other for name, other in kinds.items() if other is not kind}  # no nesting
        makers = []
        for i, member in enumerate(members):
            if arrays < 1:
                raise PresetError(
                    f"{where}: {len(members)} models have more layers than {WEIGHTS} has arrays"
                )
            makers.append(_maker(member, kinds, arrays, f"{where}: models.{i}", extra))
            arrays -= 1 + sum(_layers(member["config"]).values())
        return lambda: kind([make() for make in makers])
    parameters = {n: parameter for n, parameter in kind.constructor_parameters().items() if n not in extra}
    checked(argument_entries(parameters), arguments, f"{where}: {kind.__name__}")
    # Layers are Python objects before they have weights: a million of them would take minutes to create.
    for name, count in _layers(arguments).items():
        if count > arrays:
            raise PresetError(f"{where}: {name} is {count}, but the weight file has {arrays} arrays")
    return lambda: kind(**arguments, **extra)


def _layers(arguments):
    """The arguments that are numbers of layers with weights of their own, those of a backbone included."""
    arguments = {**arguments, **(arguments.get("backbone") or {})}
    shared = arguments.get("tying") == "layer_wise"  # by all hops
    names = (name for name in arguments if name.endswith("layers") or (name == "hops" and not shared))
    return {name: arguments[name] or 0 for name in names}


class _Build(keras.Operation):
    """Builds a model while it is traced: variables get shapes, but no values are computed."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self):
        self.model.build()
        return keras.ops.zeros(())


def _shapes(make):
    with keras.StatelessScope(initialize_variables=False):
        model = make()
        if not model.built:
            _Build(model).compute_output_spec()
        return {name: tuple(variable.shape) for name, variable in names_of(model).items()}

"""The base class of the tasks: directories and export."""

import keras

import keraszoo
from keraszoo import models
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.messages import shown
from keraszoo.registry import TASKS
from keraszoo.saving import model_card, model_directory, model_facts
from keraszoo.saving.model_config import check_arguments, common_quantization
from keraszoo.saving.weights import WEIGHTS, save_weights, without_lora
from keraszoo.shipping import shipped
from keraszoo.tasks.export import MARK, exporter, format_of
from keraszoo.tasks.process import check_process

READ_BY = {  # formats of exports
    "ctranslate2": "use the option --engine ctranslate2, in Python from_preset(..., engine='ctranslate2')",
    "onnx": "run the program in it, or name the model that it was made of",
    "savedmodel": "use tf.saved_model.load, or name the model that it was made of",
}
NOT_STORED = ("name", "trainable", "dtype", "allowed")  # arguments of a model


class Task:
    """Base class of `Translator`, `EntityTagger` and `QuestionAnswerer`: a model with its text processing.

    A subclass sets `kind`, the task in `config.json`, and supplies the methods below that begin with an
    underscore. `export_formats` maps the name of a format to that of a module with the functions
    `export(task, directory, **options)` and `verify(task, directory, texts)`; `counted` is the name of the
    number of trained tokens among its figures.

    Attributes:
        model: the Keras model.
        metrics: dict of the figures of training and evaluation, saved with the model.
        about: dict of facts for the model's card; see `keraszoo.saving.model_facts`.
        recipe: the recipe of the training as a dict, or None.
    """

    kind = None
    export_formats = {}
    counted = "tokens"

    def __init__(self, model):
        check_process()
        self._model = model
        self.metrics = {}
        self.recipe = None
        self.about = {}

    @property
    def model(self):
        """The Keras model.

        Raises:
            KerasZooError: in a forked child of a process that has made a model, or if `floatx` is changed.
        """
        check_process()
        return self._model

    def require_attention(self, wanted="attention weights"):
        """Raises KerasZooError if the model does not attend to anything, and so does not have `wanted`."""
        if not self.model.attends:
            raise KerasZooError(f"{type(self.model).__name__} does not use attention: it has no {wanted}")

    # --- directories

    @classmethod
    def from_preset(cls, name):
        """Reads a directory that `save_to_preset` wrote.

        Args:
            name: path of the directory, the name of an included model, or `hf://user/name`.

        Returns:
            An object of this class.

        Raises:
            PresetError: no such directory, a damaged one, or one of another task.
            KerasZooError: this process was forked from one that has a model, `floatx` of Keras is changed,
                or the call is inside `keras.StatelessScope`, which would drop the weights.
        """
        check_process()
        try:
            keras.Variable(0.0)
        except ValueError as error:  # Keras has no other public way to ask
            raise KerasZooError("from_preset: load models outside of keras.StatelessScope") from error
        place = shipped.find(name)
        if (place / MARK).is_file():
            kind = format_of(place)
            raise PresetError(f"{place}: expected a model directory, got an export; {READ_BY[kind]}")
        directory = model_directory.read_directory(place)
        if directory.config.get("task") != cls.kind:
            came = directory.config.get("task")
            hint = f"; its command is `keraszoo {TASKS[came].command[0]}`" if str(came) in TASKS else ""
            wanted = f"expected a directory for {cls.kind}, got one for {shown(came)}{hint}"
            raise PresetError(f"{directory.path}: {wanted}")
        try:
            task = cls._read(directory)
        except PresetError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            said = f"{directory.path}: not a valid directory for {cls.kind}: {error}"
            raise PresetError(" ".join(said.split())) from error
        directory.load_weights(task.model)
        task.metrics = directory.metrics
        task.about = model_facts.lasting_facts(directory)
        task.recipe = directory.config.get("recipe")
        return task

    def save_to_preset(self, directory, dtype=None):
        """Writes a directory with configuration, vocabulary, weights, figures and a card.

        Args:
            directory: a new one, or one of an earlier model, which is replaced. It is written completely or
                not at all.
            dtype: `"float16"` stores the weights in half precision, at half the size; `None`: unchanged. They
                are loaded as float32 in either case.

        Raises:
            PresetError: the directory exists and is not a model directory, or it cannot be written. Or the
                model could not be read again: a part of it is quantized, or an argument is out of range.
        """
        model = self.model
        config, files, facts, extra = self._contents()
        arguments, mode = arguments_of(model), common_quantization(model)
        check_readable(model)
        bare = without_lora(model)
        entries = {
            "task": self.kind,
            "model": {
                "class": type(model).__name__,
                "config": arguments,
                **extra,
                **({"quantized": mode} if mode else {}),
            },
            **config,
            "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
            "about": {
                "title": f"{type(model).__name__}, {bare.count_params():,} parameters",
                **facts,
                "parameters": bare.count_params(),
                **self.about,
            },
            **({} if dtype is None else {"weights_dtype": dtype}),
            **({} if self.recipe is None else {"recipe": self.recipe}),
        }
        common = {
            "config.json": entries,
            WEIGHTS: lambda path: save_weights(bare, path, dtype),
            "metrics.json": self.metrics,
            model_card.CARD: model_card.model_card(entries["about"], self.metrics),
        }
        model_directory.write_directory(directory, {**common, **files})

    # --- export

    def export(self, directory, format="savedmodel", **options):
        """Writes a SavedModel, or another format, from strings to strings; it needs no keraszoo.

        Args:
            directory: a new one, or an earlier export, which is replaced.
            format: `"savedmodel"`, `"onnx"` or, for a `Transformer` that translates, `"ctranslate2"`.
            **options: those of `export` in the module of the format, such as `keraszoo.translation.export`.

        Raises:
            KerasZooError: a task without an export, an unknown format, a model that the format does not
                support, a directory that cannot be written, or another backend than TensorFlow, which only
                `"ctranslate2"` does without.
        """
        exporter(self, format).export(self, directory, **options)

    def verify_export(self, directory, texts):
        """Compares an export with this object; a SavedModel runs in its own process.

        Args:
            directory: what `export` wrote.
            texts: list of str.

        Returns:
            The number of texts with equal results: all, unless weights were quantized.

        Raises:
            KerasZooError: for the first difference.
        """
        return exporter(self, format_of(directory)).verify(self, directory, list(texts))

    # --- what a subclass supplies

    @classmethod
    def _read(cls, directory):
        """Makes the object from a checked `model_directory.Directory`, without the weights."""
        raise NotImplementedError

    def _contents(self):
        """Four dicts: entries of `config.json`, files, facts for the card, entries of the model's part."""
        raise NotImplementedError


def check_readable(model):
    """Raises PresetError if a model could be saved, but not be read again; a user's class never can."""
    kind, arguments = type(model), arguments_of(model)
    if getattr(models, kind.__name__, None) is kind and "models" not in arguments:
        check_arguments(kind, arguments)


def arguments_of(model):
    """The arguments of a model that decide what it computes."""
    arguments = {key: value for key, value in model.get_config().items() if key not in NOT_STORED}
    if model.members() != [model]:
        arguments["models"] = [
            {"class": type(member).__name__, "config": arguments_of(member)} for member in model.members()
        ]
    return arguments

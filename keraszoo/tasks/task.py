"""The base class of the tasks: directories, training and export."""

import warnings

import keras

import keraszoo
from keraszoo.errors import KerasZooError, PresetError, RecipeError
from keraszoo.messages import say, shown
from keraszoo.saving import model_directory, model_facts
from keraszoo.saving.weights import WEIGHTS, save_weights
from keraszoo.shipping import shipped
from keraszoo.training.callbacks import BestWeights, LastWeights, choose_weights
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.run import Run, opened_checkpoints, train

NOT_STORED = ("name", "trainable", "dtype", "allowed")  # arguments of a model
FEW_UPDATES = 50  # a run of fewer updates hardly learns anything
# Arguments of `keras.Model.fit` that are called otherwise here.
OF_KERAS = {
    "validation_data": "pass the held-out data as `validation`",
    "validation_split": "pass the held-out data as `validation`",
    "batch_size": "a batch is a number of tokens, `batch_tokens`",
    "steps_per_epoch": "an evaluation takes place every `steps_per_evaluation` updates",
    "learning_rate": 'it is part of the optimizer, `optimizer={"learning_rate": 1e-3}`',
}


class Task:
    """Base class of `Translator`, `EntityTagger` and `QuestionAnswerer`: a model with its text processing.

    A subclass sets `kind`, the task in `config.json`, and supplies the methods below that begin with an
    underscore.

    Attributes:
        model: the Keras model.
        metrics: dict of the figures of training and evaluation, saved with the model.
        about: dict of facts for the model's card; see `keraszoo.saving.model_facts`.
        recipe: the recipe of the training as a dict, or None.
    """

    kind = None
    counted = "tokens"  # the name of the number of trained tokens among the figures

    def __init__(self, model):
        self.model = model
        self.metrics = {}
        self.recipe = None
        self.about = {}

    def require_attention(self, wanted="attention weights"):
        """Raises KerasZooError if the model does not attend to anything, and so does not have `wanted`."""
        if not self.model.attends:
            raise KerasZooError(f"{type(self.model).__name__} does not use attention: it has no {wanted}")

    # --- directories

    @classmethod
    def from_preset(cls, name):
        """Reads a directory that `save_to_preset` wrote.

        Args:
            name: path of the directory, or the name of a shipped model.

        Returns:
            An object of this class.

        Raises:
            PresetError: no such directory, a damaged one, or one of another task.
        """
        directory = model_directory.read_directory(shipped.find(name))
        if directory.config.get("task") != cls.kind:
            came = directory.config.get("task")
            raise PresetError(
                f"{directory.path}: expected a directory for {cls.kind}, got one for {shown(came)}"
            )
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
            PresetError: the directory exists and is not a model directory, or it cannot be written.
        """
        model = self.model
        config, files, facts, extra = self._contents()
        arguments = _arguments(model)
        entries = {
            "task": self.kind,
            "model": {"class": type(model).__name__, "config": arguments, **extra},
            **config,
            "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
            "about": {
                "title": f"{type(model).__name__}, {model.count_params():,} parameters",
                **facts,
                "parameters": model.count_params(),
                **self.about,
            },
            **({} if dtype is None else {"weights_dtype": dtype}),
            **({} if self.recipe is None else {"recipe": self.recipe}),
        }
        common = {
            "config.json": entries,
            WEIGHTS: lambda path: save_weights(model, path, dtype),
            "metrics.json": self.metrics,
            model_facts.CARD: model_facts.model_card(entries["about"], self.metrics),
        }
        model_directory.write_directory(directory, {**common, **files})

    # --- training

    def fit(self, train, validation=None, directory=None, checkpoints=None, **settings):
        """Trains the model.

        At the end the model has the weights of the best evaluation, or the average of the last `average_last`
        if that scores better. Without held-out data, it has the average or the last weights.

        Args:
            train: the training data.
            validation: held-out data; its score selects the weights that are kept.
            directory: where the model is saved whenever it is the best so far, and at the end; `None`:
                nowhere.
            checkpoints: a folder for checkpoints. The same call resumes a stopped run; the folder is deleted
                when the run is over. `None`: no checkpoints.
            **settings: fields of a recipe's `training` section, such as `epochs=10`, `batch_tokens=4096` or
                `optimizer={"schedule": "constant", "learning_rate": 1e-3}`; and

                - `optimizer`: also a Keras optimizer, which is used as it is;
                - `callbacks`: list of Keras callbacks, called as by `keras.Model.fit`, with the figures of
                  the held-out data in the logs;
                - `verbose`: as for `keras.Model.fit`.

        Returns:
            A `keras.callbacks.History`. (A `QuestionAnswerer` has other settings, and returns a list with the
            figures of each start.)

        Raises:
            RecipeError: an unknown setting, or one out of range; or `checkpoints` of a run with other
                settings or data.
            DataError: unusable data.
            KeyboardInterrupt, SystemExit: with `checkpoints`, after SIGINT or SIGTERM, once the current step
                is done and saved.
        """
        return self.fit_run(train, validation, self._run(settings, directory, checkpoints))

    def fit_run(self, train_data, validation, run):
        """Trains the model as a `Run` says, which `fit` and recipes make from their settings.

        Args:
            train_data, validation: as for `fit`.
            run: a `keraszoo.training.run.Run`.

        Returns:
            The `keras.callbacks.History`.
        """
        settings = run.settings
        self._check(run, validation)
        keras.utils.set_random_seed(settings.seed)
        batches, held_out, digest = self._data(train_data, validation, run)
        self.metrics, self.recipe = {}, run.recipe  # without those of earlier weights
        steps = run.steps(batches)
        if steps < FEW_UPDATES and settings.steps is None:
            say(
                f"this run has only {steps} updates: take more epochs, or fewer batch_tokens for more updates"
            )
        run.compile_model = lambda model: self._compile(model, run, steps)
        best, last = None, LastWeights(settings.average_last)
        save = self._save_best if run.directory is not None and run.writes else None
        if held_out is not None:
            best = BestWeights(
                settings.monitor, settings.patience, save and (lambda logs: save(run.directory, logs))
            )
            run.evaluations += [held_out, best]
        if settings.average_last > 1:
            run.evaluations.append(last)
        if settings.tensorboard and run.writes:
            logs = f"{str(run.directory or 'runs').rstrip('/')}.logs"
            run.evaluations.append(keras.callbacks.TensorBoard(logs, write_graph=False))
        # A recipe with another number of devices or shapes has other batches.
        cut = {"rows_multiple": batches.replicas, "shapes": batches.shapes}
        identity = {
            "model": _arguments(self.model),
            "training": _deciding(run),
            "data": digest,
            "batches": cut,
        }
        with opened_checkpoints(run, identity):
            history = train(self.model, batches, run)
            figures = choose_weights(self.model, held_out, best, last)
            self.metrics["training"] = {
                "steps": history.steps,
                "steps_per_evaluation": settings.steps_per_evaluation or len(batches),
                self.counted: history.target_tokens,
                **history.history,
            }
            if run.checkpoints is not None:
                self.metrics["training"]["checkpoint_seconds"] = round(history.checkpoint_seconds, 3)
            self._note_validation(figures)
            if save is not None:
                self.save_to_preset(run.directory)
        return history

    def _run(self, settings, directory, checkpoints):
        """Makes the `Run` of the arguments of `fit`."""
        section = self._settings()
        for name, advice in OF_KERAS.items():
            if name in settings and name not in section.model_fields:
                raise RecipeError(f"fit: there is no setting {name}: {advice}")
        given = {name: settings.pop(name) for name in ("callbacks", "verbose") if name in settings}
        given = {name: value for name, value in given.items() if value is not None}
        if "optimizer" in section.model_fields:
            if isinstance(settings.get("optimizer"), keras.optimizers.Optimizer):
                given["optimizer"] = settings.pop("optimizer")
        return Run(section.checked(settings), directory, checkpoints, **given)

    def _check(self, run, validation):
        """Checks everything that can be checked before hours of training."""
        settings = run.settings
        unused = None if validation is not None else settings.given_of("patience", "monitor")
        if unused is not None:
            raise RecipeError(f"fit: {unused}: there is no validation")
        if run.directory is not None:
            model_directory.check_replaceable(run.directory)
        policy = self.model.dtype_policy.name
        if settings.precision != policy:
            raise RecipeError(f"fit: precision: the model has {policy}, got {settings.precision}")
        if run.optimizer is not None and settings.accumulate > 1:
            raise RecipeError("fit: accumulate needs an optimizer of its own; give `optimizer` as a dict")
        if settings.deterministic:
            if keras.backend.backend() != "tensorflow":
                raise RecipeError(
                    "fit: deterministic needs TensorFlow; JAX has XLA_FLAGS=--xla_gpu_deterministic_ops=true"
                )
            import tensorflow as tf

            tf.config.experimental.enable_op_determinism()

    def _compile(self, model, run, steps):
        """Compiles a model with the optimizer and the loss of a run of so many updates."""
        optimizer, options = run.optimizer, run.settings.optimizer
        if optimizer is not None and run.strategy is not None:  # one for each copy of the model
            optimizer = type(optimizer).from_config(optimizer.get_config())
        if optimizer is None:
            width = model.get_config().get("d_model")
            if options.schedule == "transformer" and width is None:
                kind = type(self.model).__name__
                raise RecipeError(f"fit: optimizer.schedule: transformer needs a d_model, which {kind} lacks")
            optimizer = make_optimizer(options, steps, width, run.settings.accumulate)
        model.compile(optimizer, self._loss(run.settings), jit_compile=run.jit_compile)

    def _save_best(self, directory, logs):
        """Saves the best model so far. On a full disk, training goes on: the weights are kept in memory."""
        self._note_validation(logs)
        try:
            self.save_to_preset(directory)
        except PresetError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            warnings.warn(f"the best model so far was not saved: {error}; training goes on", stacklevel=2)

    def _note_validation(self, figures):
        chosen = {key: float(value) for key, value in figures.items() if key.startswith(("val_", "averaged"))}
        if chosen:
            self.metrics["validation"] = chosen

    # --- export

    def export(self, directory, **options):
        """Writes a SavedModel, or another format, from strings to strings; it needs no keraszoo.

        Args:
            directory: a new one, or an earlier export, which is replaced.
            **options: see the task's export module, `keraszoo.translation.export` or
                `keraszoo.tagging.export`, which also lists the signatures.

        Raises:
            KerasZooError: a task without an export, another backend than TensorFlow, or a directory that
                cannot be written.
        """
        export, _ = self._exporter()
        export(self, directory, **options)

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
        _, verify = self._exporter()
        return verify(self, directory, texts)

    # --- what a subclass supplies

    @classmethod
    def _read(cls, directory):
        """Makes the object from a checked `model_directory.Directory`, without the weights."""
        raise NotImplementedError

    def _contents(self):
        """Four dicts: entries of `config.json`, files, facts for the card, entries of the model's part."""
        raise NotImplementedError

    def _settings(self):
        """The `FitSection` subclass with the settings of `fit`."""
        raise NotImplementedError

    def _data(self, train, validation, run):
        """`(batches, held_out, digest)`: `AddressedBatches`, a callback or None, and a digest of all data."""
        raise NotImplementedError

    def _loss(self, settings):
        """The loss for `compile`; None if the model has its own."""
        return None

    def _exporter(self):
        """Two functions, `export(task, directory, **options)` and `verify_export(task, directory, texts)`."""
        raise KerasZooError(f"{type(self).__name__} has no export")


def _arguments(model):
    """The arguments of a model that decide what it computes."""
    return {key: value for key, value in model.get_config().items() if key not in NOT_STORED}


def _deciding(run):
    """The settings that decide a run, with the configuration of a given optimizer."""
    settings = run.settings.deciding()
    if run.optimizer is not None:
        settings["optimizer"] = keras.saving.serialize_keras_object(run.optimizer)
    return settings

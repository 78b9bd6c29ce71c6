"""How a task trains its model: the settings, the data, the evaluations and the weights that are kept."""

import importlib.util
import math
import warnings
from pathlib import Path

import keras

from keraszoo import models
from keraszoo.errors import PresetError, RecipeError
from keraszoo.messages import say
from keraszoo.saving import model_directory
from keraszoo.saving.atomic import check_room
from keraszoo.saving.model_config import check_arguments
from keraszoo.training.adam import NO_EMA, innermost
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


class Trainable:
    """Base class of `Task`: `fit`, in Python or as a recipe says.

    A subclass has `model`, `metrics`, `recipe` and `save_to_preset`, and supplies the methods at the end.
    """

    _section = None  # the `FitSection` subclass with the settings of `fit`
    counted = "tokens"  # the name of the number of trained tokens among the figures

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
                `optimizer={"schedule": "constant", "learning_rate": 1e-3}`; `seed` seeds Python, NumPy and
                the backend, as `keras.utils.set_random_seed` does; and

                - `optimizer`: also a Keras optimizer. It is copied: the object itself stays as it was, and
                  can be given to several runs;
                - `callbacks`: a Keras callback or a list of them, called as by `keras.Model.fit`, with the
                  figures of the held-out data in the logs. A checkpoint includes the state of those with
                  `get_state` and `set_state`; others start again when a run resumes;
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
            say(f"this run makes only {steps} update(s); train for more epochs or lower batch_tokens")
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
            run.callbacks = [*run.callbacks, keras.callbacks.TensorBoard(logs, write_graph=False)]
        # A recipe with another number of devices or shapes has other batches.
        cut = {"rows_multiple": batches.replicas, "shapes": batches.shapes}
        identity = {
            "model": arguments_of(self.model),
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
                **{name: [_finite(value) for value in values] for name, values in history.history.items()},
            }
            if run.checkpoints is not None:
                self.metrics["training"]["checkpoint_seconds"] = round(history.checkpoint_seconds, 3)
            self._note_validation(figures)
            if save is not None:
                self.save_to_preset(run.directory)
        return history

    def _run(self, settings, directory, checkpoints):
        """Makes the `Run` of the arguments of `fit`."""
        section = self._section
        for name, advice in OF_KERAS.items():
            if name in settings and name not in section.model_fields:
                raise RecipeError(f"fit: there is no setting {name}: {advice}")
        given = {name: settings.pop(name) for name in ("callbacks", "verbose") if name in settings}
        given = {name: value for name, value in given.items() if value is not None}
        given |= {"callbacks": keras.tree.flatten(given["callbacks"])} if "callbacks" in given else {}
        for callback in given.get("callbacks", ()):
            if not isinstance(callback, keras.callbacks.Callback):
                raise RecipeError(f"fit: callbacks: expected Keras callbacks, got {callback!r:.40}")
        if "optimizer" in section.model_fields:
            if isinstance(settings.get("optimizer"), keras.optimizers.Optimizer):
                given["optimizer"] = settings.pop("optimizer")
        return Run(section.checked(settings), directory, checkpoints, **given)

    def _check(self, run, validation):
        """Checks everything that can be checked before hours of training."""
        settings = run.settings
        unused = None if validation is not None else settings.given_of("patience", "monitor")
        if unused is not None:
            raise RecipeError(f"fit: {unused} has no effect without validation data")
        if run.directory is not None:
            check_output(self.model, run.directory)
            try:
                check_readable(self.model)
            except PresetError as error:
                raise RecipeError(f"model: {error}") from None
            kept = getattr(run.checkpoints, "folder", run.checkpoints)
            if kept is not None and Path(kept).resolve().is_relative_to(Path(run.directory).resolve()):
                raise RecipeError(
                    f"fit: checkpoints: expected a folder outside of directory, {run.directory}"
                )
        if settings.tensorboard and importlib.util.find_spec("tensorboard") is None:
            raise RecipeError("fit: tensorboard is needed: pip install 'keraszoo[tensorboard]'")
        policy = self.model.dtype_policy.name
        if settings.precision != policy:
            raise RecipeError(f"fit: precision: the model has {policy}, got {settings.precision}")
        if run.optimizer is None:
            kind = type(self.model).__name__
            if settings.optimizer.schedule == "transformer" and "d_model" not in self.model.get_config():
                raise RecipeError(f"fit: optimizer.schedule: transformer needs a d_model, which {kind} lacks")
        else:
            inner = innermost(run.optimizer)
            if inner.use_ema:
                raise RecipeError(f"fit: optimizer: {NO_EMA}")
            parts = getattr(inner, "accumulate", 1)
            if parts != settings.accumulate:
                raise RecipeError(
                    f"fit: accumulate: expected {parts}, as the optimizer has it, got {settings.accumulate}"
                )
        if settings.deterministic:
            if keras.backend.backend() != "tensorflow":
                raise RecipeError(
                    "fit: deterministic needs TensorFlow; JAX has XLA_FLAGS=--xla_gpu_deterministic_ops=true"
                )
            import tensorflow as tf

            tf.config.experimental.enable_op_determinism()

    def _compile(self, model, run, steps):
        """Compiles a model with the optimizer and the loss of a run of so many updates."""
        given, options = run.optimizer, run.settings.optimizer
        if given is not None:
            optimizer = type(given).from_config(given.get_config())
        else:
            width = model.get_config().get("d_model")
            optimizer = make_optimizer(options, steps, width, run.settings.accumulate)
        model.compile(optimizer, self._loss(run.settings), jit_compile=run.jit_compile)

    def _save_best(self, directory, logs):
        """Saves the best model so far.

        If the disk is full, or strange files have come into the directory, training goes on: the weights are
        kept in memory.
        """
        self._note_validation(logs)
        replaceable = False
        try:
            model_directory.check_replaceable(directory)
            replaceable = True
            self.save_to_preset(directory)
        except PresetError as error:
            if replaceable and not isinstance(error.__cause__, OSError):
                raise
            warnings.warn(f"the best model so far was not saved: {error}; training goes on", stacklevel=2)

    def _note_validation(self, figures):
        chosen = {
            key: float(value)
            for key, value in figures.items()
            if key.startswith(("val_", "averaged")) and math.isfinite(value)
        }
        if chosen:
            self.metrics["validation"] = chosen

    # --- what a subclass supplies

    def _data(self, train, validation, run):
        """`(batches, held_out, digest)`: `AddressedBatches`, a callback or None, and a digest of all data."""
        raise NotImplementedError

    def _loss(self, settings):
        """The loss for `compile`; None if the model has its own."""
        return None


def check_output(model, directory):
    """Raises KerasZooError if a model could not be saved to a directory when its training is over."""
    model_directory.check_replaceable(directory)
    size = sum(keras.ops.convert_to_numpy(weight).nbytes for weight in model.weights)
    check_room(directory, size, 2 * size)  # weights are written and then copied


def check_readable(model):
    """Raises PresetError if a model could be saved, but not be read again; a user's class never can."""
    kind, arguments = type(model), arguments_of(model)
    if sum(str(weight.dtype) == "int8" for weight in model.weights) > getattr(model, "int8_vectors", False):
        raise PresetError("Keras has quantized the model, so it could not be read again; save it before")
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


def _finite(value):
    """A figure for JSON, which has no infinity: `None` then."""
    value = float(value)
    return value if math.isfinite(value) else None


def _deciding(run):
    """The settings that decide a run, with the configuration of a given optimizer."""
    settings = run.settings.deciding()
    if run.optimizer is not None:
        settings["optimizer"] = _without_names(keras.saving.serialize_keras_object(run.optimizer))
    return settings


def _without_names(config):
    """A configuration without the names that Keras counts up (`adam`, `adam_1`)."""
    if not isinstance(config, dict):
        return config
    return {key: _without_names(value) for key, value in config.items() if key != "name"}

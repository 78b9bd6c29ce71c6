"""A training run: stock `fit`, in periods, that can stop at any step and resume with identical results."""

import contextlib
import dataclasses
import sys

import keras

from keraszoo.errors import PresetError
from keraszoo.messages import say
from keraszoo.training.adam import LossScale
from keraszoo.training.addressed_batches import Periods
from keraszoo.training.callbacks import ProgressBar, Throughput, WholeHistory
from keraszoo.training.checkpoint_callback import SaveCheckpoints, Signals
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.distribution import (
    OnOneDevice,
    copy_in_scope,
    copy_variables,
    make_strategy,
    scope_of_fit,
    while_all_workers_live,
    writes,
)
from keraszoo.training.divergence import Diverged, StopIfDiverged

ADVICE = "start all of them again to resume the run"


@dataclasses.dataclass
class Run:
    """The settings and objects of one training run, passed to every function that leads to `fit`.

    Attributes:
        settings: a `FitSection`, the `training` section of a recipe.
        directory: where the model is saved, or None.
        checkpoints: an open `Checkpoints`, a folder for them, or None.
        compile_model: function that compiles a model. Its optimizer should be `Adam` of this package, with
            the `accumulate` of the settings.
        evaluations: callbacks whose `model` is always the given one, also while a copy of it is trained on
            several devices; of their hooks, those of epochs and of the whole training are called. The state
            of those with `get_state` and `set_state` is part of a checkpoint.
        callbacks: further callbacks, passed to `fit`.
        verbose: of `fit`; None: a progress bar on a terminal, else one line for each period.
        optimizer: a Keras optimizer instead of the one that the settings describe, or None.
        recipe: the recipe as a dict, which is saved with the model, or None.
        strategy: the distribution strategy of the settings, made once, here; None on one device.
        earlier: how long the earlier sessions of a resumed run trained, in seconds; set by `train`.
    """

    settings: object
    directory: object = None
    checkpoints: object = None
    compile_model: object = None
    evaluations: list = dataclasses.field(default_factory=list)
    callbacks: list = dataclasses.field(default_factory=list)
    verbose: object = None
    optimizer: object = None
    recipe: dict | None = None
    strategy: object = dataclasses.field(init=False)
    earlier: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        name, replicas = (getattr(self.settings, key, None) for key in ("strategy", "replicas"))
        self.strategy = make_strategy(name, replicas)

    @property
    def writes(self):
        """Whether this process writes files; with several workers, only the first one does."""
        return writes(self.strategy)

    @property
    def rows_multiple(self):
        """The rows of a batch are a multiple of this, replicas times parts: the `replicas` of batches."""
        return self.settings.accumulate * (1 if self.strategy is None else self.strategy.num_replicas_in_sync)

    @property
    def jit_compile(self):
        """Whether XLA compiles the steps."""
        given = self.settings.jit_compile
        return keras.backend.backend() == "jax" if given is None else given

    @property
    def shapes(self):
        """The number of lengths that batches are padded to; None: no limit."""
        return 16 if self.settings.shapes is None and self.jit_compile else self.settings.shapes

    def steps(self, batches):
        """The number of updates of the run."""
        steps = self.settings.epochs * len(batches)
        return steps if self.settings.steps is None else min(steps, self.settings.steps)


@contextlib.contextmanager
def opened_checkpoints(run, identity):
    """Opens the checkpoints of a run and compares its identity with the run in them.

    Args:
        run: a `Run`. If its `checkpoints` are a folder, they are replaced by open `Checkpoints`, and the
            folder is deleted when the block ends without an error. Open `Checkpoints` stay open.
        identity: dict of what decides the run.
    """
    if run.checkpoints is None:
        yield
    elif isinstance(run.checkpoints, Checkpoints):
        run.checkpoints.require(**identity)
        yield
    else:
        run.checkpoints = Checkpoints(run.checkpoints, identity, writes=run.writes)
        with run.checkpoints.open():
            yield
            run.checkpoints.forget()


def train(model, batches, run):
    """Trains a model by `fit`, with `steps_per_evaluation` updates in each of its epochs.

    If there is a checkpoint, the run resumes from it; on a CPU it ends with exactly the same weights as an
    uninterrupted run. With checkpoints, SIGINT or SIGTERM end the run after the current step, once it is
    saved.

    Args:
        model: built by `model.build()`; trained in place.
        batches: `AddressedBatches` whose rows are a multiple of `run.rows_multiple`.
        run: a `Run` whose checkpoints, if any, are open.

    Returns:
        The `keras.callbacks.History` of the whole run, with `steps`, `target_tokens` and `checkpoint_seconds`
        as attributes.

    Raises:
        Diverged: a loss, a gradient or a weight is not finite.
        KeyboardInterrupt, SystemExit: after SIGINT, or with code 143 after SIGTERM, once the run is saved.
        PresetError: the checkpoint is not one of this run.
    """
    trained = _compiled(model, run)
    settings, parts = run.settings, run.settings.accumulate
    last = parts * run.steps(batches)
    history = WholeHistory()
    named = {type(callback).__name__.lower(): callback for callback in run.evaluations}
    named |= {f"callback{i}": callback for i, callback in enumerate(run.callbacks)}
    kept = {name: callback for name, callback in named.items() if hasattr(callback, "get_state")}
    kept["history"] = history
    evaluations = run.evaluations if trained is model else [OnOneDevice(model, run.evaluations)]
    shows_bar = run.verbose is None and sys.stderr.isatty()
    verbose = 0 if shows_bar else 2 if run.verbose is None else run.verbose
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(Signals()) if run.checkpoints else None
        saving = SaveCheckpoints(run, kept, signals)
        saving.restore(trained)
        saving.check_room(trained)
        run.earlier = saving.earlier
        if saving.step > last:
            raise PresetError(f"{run.checkpoints.folder}: after step {saving.step:,} of only {last:,}")
        if saving.step:
            say(f"resuming after step {saving.step // parts:,} of {last // parts:,}")
        bar = ProgressBar(run, last // parts, saving.step // parts) if shows_bar else None
        shown = [stack.enter_context(bar)] if shows_bar else []
        while saving.step < last and not saving.over:
            length = parts * (settings.steps_per_evaluation or len(batches))
            period, skip = divmod(saving.step, length)
            periods = Periods(batches, settings.steps_per_evaluation, period, skip, parts)
            saving.periods = periods
            # After a resumed period, `fit` ends, because the next one has more steps. This callback comes
            # last: those before it read whether another one stopped the training.
            end = keras.callbacks.LambdaCallback(
                on_epoch_end=lambda *_: setattr(trained, "stop_training", True)
            )
            watching = [periods.at_period(), StopIfDiverged(periods), Throughput(periods, stop_at=last)]
            callbacks = [*watching, *evaluations, *run.callbacks, *shown, history, saving]
            callbacks += [end] if skip else []
            try:
                with while_all_workers_live(run.strategy, ADVICE), scope_of_fit(run.strategy):
                    trained.fit(
                        periods.for_fit(),
                        steps_per_epoch=len(periods),
                        initial_epoch=period,
                        epochs=-(-last // length),
                        shuffle=False,
                        callbacks=callbacks,
                        verbose=verbose,
                    )
                    saving.stop_if_told()  # by a signal that came while `fit` ended
            except Diverged:
                if trained is not model:
                    copy_variables(trained, model)
                raise
    if trained is not model:
        copy_variables(trained, model)
    history.steps = saving.step // parts
    history.target_tokens = _real_tokens(batches, history.steps)
    history.checkpoint_seconds = saving.seconds
    return history


def _compiled(model, run):
    """Compiles a model, or under a strategy a copy of it on all devices, and builds the optimizer."""
    trained, scope = model, contextlib.nullcontext()
    with while_all_workers_live(run.strategy, ADVICE):
        if run.strategy is not None:
            trained, scope = copy_in_scope(model, run.strategy), run.strategy.scope()
            run.compile_model(model)  # for callbacks that evaluate it
        with scope:
            run.compile_model(trained)
            trained.optimizer = LossScale.instead_of(trained.optimizer)
            trained.optimizer.build(trained.trainable_variables)
    return trained


def _real_tokens(batches, updates):
    """The real tokens of the first updates of a run; every epoch has equally many."""
    epochs, rest = divmod(updates, len(batches))
    epoch = sum(batches.real_tokens(0, i) for i in range(len(batches))) if epochs else 0
    return epochs * epoch + sum(batches.real_tokens(epochs, i) for i in range(rest))

"""Callbacks of a run: throughput, progress, history, the best weights and the average of the last ones."""

import math
import time

import keras
import numpy as np

from keraszoo.training.adam import innermost


class Throughput(keras.callbacks.Callback):
    """Adds `tokens_per_s` to the logs: real tokens a second, without the time of evaluations.

    It counts steps where they begin and only writes logs where they end. So Keras need not wait for each step
    on backends that compute while the next batch is made: on JAX, it then reads the loss in a thread of its
    own.

    Args:
        periods: the `Periods` that `fit` reads.
        stop_at: number of the step after which training stops; `None`: never.
    """

    async_safe = True

    def __init__(self, periods, stop_at=None):
        super().__init__()
        self.periods = periods
        self.stop_at = stop_at
        self.step = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()
        self.tokens = [0]  # after so many steps of the period

    def on_train_batch_begin(self, batch, logs=None):
        self.tokens.append(self.tokens[-1] + self.periods.real_tokens(batch))
        self.step = self.periods.step(batch) + 1
        if self.stop_at is not None and self.step >= self.stop_at:
            self.model.stop_training = True  # `fit` reads it at the end of the step

    def on_train_batch_end(self, batch, logs=None):
        logs["tokens_per_s"] = self.tokens[batch + 1] / (time.perf_counter() - self.started)

    def on_epoch_end(self, epoch, logs=None):
        logs["tokens_per_s"] = self.tokens[-1] / (time.perf_counter() - self.started)


class ProgressBar(keras.callbacks.Callback):
    """Shows a run on a terminal: one line with steps, tokens a second, time left, loss and the best score.

    Above it stays a line for each epoch with its figures. It is a context manager, since `fit` may be called
    several times, and may raise an error.

    Args:
        run: the `Run`.
        steps: the updates of the whole run.
        done: those that earlier sessions have made.
    """

    async_safe = True

    def __init__(self, run, steps, done):
        from rich import console, progress

        super().__init__()
        self.best = next((one for one in run.evaluations if isinstance(one, BestWeights)), None)
        self.name = "epoch" if run.settings.steps_per_evaluation is None else "evaluation"
        self.parts = run.settings.accumulate
        self.progress = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(None),
            progress.TextColumn("{task.completed:,.0f}/{task.total:,} {task.fields[rate]}"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("left {task.fields[figures]}"),
            console=console.Console(stderr=True),
            speed_estimate_period=600,  # seconds: steps and evaluations take turns
            expand=True,
        )
        self.line = self.progress.add_task(self.name, total=steps, completed=done, rate="", figures="")

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *error):
        self.progress.stop()

    def on_epoch_begin(self, epoch, logs=None):
        self.progress.update(self.line, description=f"{self.name} {epoch + 1}/{self.params['epochs']}")

    def on_train_batch_end(self, batch, logs=None):
        rate, figures = f"{logs['tokens_per_s']:,.0f} tokens/s", f"loss {logs['loss']:.3f}"
        if self.best is not None and self.best.logs is not None:
            figures += f" best {self.best.logs[self.best.monitor]:.2f}"
        self.progress.update(self.line, advance=1 / self.parts, rate=rate, figures=figures)
        if batch + 1 == self.params["steps"]:
            self.progress.update(self.line, description="evaluating", refresh=True)  # no step will redraw it

    def on_epoch_end(self, epoch, logs=None):
        shown = {name: value for name, value in logs.items() if name != "tokens_per_s"}
        figures = "  ".join(f"{name} {value:,.4g}" for name, value in shown.items())
        self.progress.console.print(f"{self.name} {epoch + 1}: {figures}", highlight=False, markup=False)


class WholeHistory(keras.callbacks.History):
    """The history of a run across its sessions, with the learning rate after each epoch.

    It keeps its entries when `fit` begins again.
    """

    def __init__(self):
        super().__init__()
        self.epoch = []

    def on_train_begin(self, logs=None):
        """Keras' own callback starts a new list of epochs here."""

    def on_epoch_end(self, epoch, logs=None):
        rate = float(keras.ops.convert_to_numpy(innermost(self.model.optimizer).learning_rate))
        super().on_epoch_end(epoch, {**logs, "learning_rate": rate})

    def get_state(self):
        """Returns the state for `set_state`."""
        history = {key: [float(value) for value in values] for key, values in self.history.items()}
        return {"epoch": list(self.epoch), "history": history}

    def set_state(self, state):
        """Restores what `get_state` returned."""
        self.epoch = [int(epoch) for epoch in state["epoch"]]
        self.history = {key: [float(value) for value in values] for key, values in state["history"].items()}


class BestWeights(keras.callbacks.Callback):
    """Keeps the weights of the best epoch, and stops after `patience` epochs without a better one.

    Args:
        monitor: `"val_loss"`, lower is better, or a score such as `"val_bleu"`, higher is better. The loss
            decides between equal scores: BLEU is 0 until four words in a row are right.
        patience: epochs without a better value after which training stops; `None`: never.
        save: a function called with the logs of each epoch that is the best so far.
    """

    def __init__(self, monitor="val_bleu", patience=None, save=None):
        super().__init__()
        self.monitor = monitor
        self.patience = patience
        self.save = save
        self.best_epoch = None
        self.logs = None
        self.weights = None

    def is_better(self, logs):
        """Whether these figures are better than the best so far."""

        def value(figures):
            loss = -figures.get("val_loss", 0.0)
            loss = -math.inf if math.isnan(loss) else loss
            return (loss,) if self.monitor == "val_loss" else (figures[self.monitor], loss)

        return self.logs is None or value(logs) > value(self.logs)

    def on_epoch_end(self, epoch, logs=None):
        if self.is_better(logs):
            self.best_epoch, self.logs = epoch, dict(logs)
            self.weights = self.model.get_weights()
            if self.save is not None:
                self.save(logs)
        if self.patience is not None and epoch - self.best_epoch >= self.patience:
            self.model.stop_training = True

    def get_state(self):
        """Returns the state for `set_state`: JSON values and a list of arrays."""
        logs = None if self.logs is None else {key: float(value) for key, value in self.logs.items()}
        return {"best_epoch": self.best_epoch, "logs": logs, "weights": self.weights}

    def set_state(self, state):
        """Restores what `get_state` returned."""
        logs = state["logs"]
        self.logs = None if logs is None else {key: float(value) for key, value in logs.items()}
        self.best_epoch = None if logs is None else int(state["best_epoch"])
        self.weights = state["weights"]


class LastWeights(keras.callbacks.Callback):
    """Keeps the weights of the last k epochs; `mean` averages them.

    The Transformer's paper averages the last checkpoints before it translates (section 6.1).

    Args:
        count: k.
    """

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.kept = []

    def on_epoch_end(self, epoch, logs=None):
        self.kept = [*self.kept, self.model.get_weights()][-self.count :]

    def get_state(self):
        """Returns the state for `set_state`: lists of arrays."""
        return {str(i): weights for i, weights in enumerate(self.kept)}

    def set_state(self, state):
        """Restores what `get_state` returned."""
        self.kept = [state[str(i)] for i in range(len(state))]

    def mean(self):
        """Returns the average for `model.set_weights`; integers (states of generators) are the last ones."""
        average = [np.mean(parts, axis=0, dtype="float64") for parts in zip(*self.kept, strict=True)]
        last = self.kept[-1]
        return [
            (mean if np.issubdtype(old.dtype, np.floating) else old).astype(old.dtype)
            for mean, old in zip(average, last, strict=True)
        ]


def choose_weights(model, held_out, best, last):
    """Gives a model the weights of the best evaluation, or the average of the last if that scores better.

    Without held-out data, the model gets the average or keeps its last weights.

    Args:
        model: the trained model.
        held_out: callback with `figures(model)`, or None.
        best: the `BestWeights` of the run, or None without held-out data.
        last: its `LastWeights`.

    Returns:
        Dict of the figures of these weights; {} without held-out data.
    """
    if last.kept:
        model.set_weights(last.mean())
    if held_out is None:
        return {}
    if last.kept:
        averaged = held_out.figures(model)
        if best.is_better(averaged):
            return {**averaged, "averaged": len(last.kept)}
    model.set_weights(best.weights)
    return best.logs

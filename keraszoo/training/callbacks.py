"""What happens between the steps of `fit`, and the progress bar."""

import time

import keras

from keraszoo.training.divergence import check_health


class BetweenSteps(keras.callbacks.Callback):
    """Checks, saves and stops a run between the steps of a period, and adds `tokens_per_s` to the logs.

    It acts at the beginning of a step, when the results of the step before exist on every backend, and does
    not read logs. So Keras need not wait for each step on backends that compute while the next batch is made.

    `first` is the number of steps made before the period, `state` a function of step and model that
    returns the state to save, `metrics` the running metrics of a resumed period, `callbacks` the
    `CallbackList` whose hooks of batches are called, `async_safe` whether Keras may do so in a thread, as
    it does on JAX. `step` is the number of steps made, `rate` the real tokens a second in this period.
    """

    def __init__(self, batches, parts, first, saver, state, metrics, callbacks, async_safe=False):
        super().__init__()
        self.batches, self.parts, self.first = batches, parts, first
        self.saver, self.state, self.metrics = saver, state, metrics
        self.callbacks = callbacks
        self.async_safe = async_safe
        # Steps between checks: JAX computes ahead, and a check makes it wait.
        self.every = 1 if keras.backend.backend() == "tensorflow" else 16
        self.step = first

    def on_epoch_begin(self, epoch, logs=None):
        for variable, array in zip(self.model.metrics_variables, self.metrics, strict=False):
            variable.assign(array)  # `fit` has reset them
        self.started = time.perf_counter()
        self.tokens = [0]  # after so many steps of the period

    def on_train_batch_begin(self, batch, logs=None):
        made = self.first + batch
        if batch and batch % self.every == 0:
            check_health(self.model, len(self.batches), self.parts)
        if batch and self.saver.told_to_stop(made):
            self.saver.save(made, lambda: self.state(made, self.model))
            self.saver.stop(made)
        elif batch and self.saver.is_due(made):
            self.saver.save(made, lambda: self.state(made, self.model))
        real = self.batches.real_tokens(*divmod(made // self.parts, len(self.batches))) / self.parts
        self.tokens.append(self.tokens[-1] + real)
        self.step = made + 1
        self.callbacks.on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        rate = self.tokens[batch + 1] / (time.perf_counter() - self.started)
        self.callbacks.on_train_batch_end(batch, {**logs, "tokens_per_s": rate})

    def on_epoch_end(self, epoch, logs=None):
        self.rate = self.tokens[-1] / (time.perf_counter() - self.started)


class ProgressBar(keras.callbacks.Callback):
    """Shows a run on a terminal: one line with steps, tokens a second, time left, loss and the best score.

    Above it stays a line for each period with its figures. It is a context manager, since `fit` may raise an
    error. `steps` are the updates of the whole run, `done` those of earlier sessions, `parts` those of a
    batch; `best` returns the best score so far, or None.
    """

    async_safe = True

    def __init__(self, steps, done, parts, best):
        from rich import console, progress

        super().__init__()
        self.parts, self.best = parts, best
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
        self.line = self.progress.add_task("period", total=steps, completed=done, rate="", figures="")

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *error):
        self.progress.stop()

    def on_epoch_begin(self, epoch, logs=None):
        self.progress.update(self.line, description=f"period {epoch + 1}/{self.params['epochs']}")

    def on_train_batch_end(self, batch, logs=None):
        rate, figures = f"{logs['tokens_per_s']:,.0f} tokens/s", f"loss {logs['loss']:.3f}"
        best = self.best()
        if best is not None:
            figures += f" best {best:.2f}"
        self.progress.update(self.line, advance=1 / self.parts, rate=rate, figures=figures)
        if batch + 1 == self.params["steps"]:
            self.progress.update(self.line, description="evaluating", refresh=True)  # no step will redraw it

    def on_epoch_end(self, epoch, logs=None):
        shown = {name: value for name, value in logs.items() if name != "tokens_per_s"}
        figures = "  ".join(f"{name} {value:,.4g}" for name, value in shown.items())
        self.progress.console.print(f"period {epoch + 1}: {figures}", highlight=False, markup=False)

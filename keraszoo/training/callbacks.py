"""Beside the steps: tokens a second, figures of held-out pairs, the best weights, the mean of the last."""

import functools
import time

import keras
import numpy as np

from keraszoo.training.jitted import jitted_on_jax
from keraszoo.training.memory import keep_freed_memory
from keraszoo.training.metrics import Perplexity, TokenAccuracy


class Throughput(keras.callbacks.Callback):
    """Adds `tokens_per_s` to the logs: real tokens a second, evaluation not counted.

    What must keep pace with the steps is counted where a step begins, and where it ends the logs alone are
    written. So Keras need not wait for each step on backends that compute while the next batch is made: on
    JAX it then reads the loss in a thread of its own.

    Args:
        periods: the `Periods` that `fit` is given.
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
            self.model.stop_training = True  # which `fit` reads when the step is made

    def on_train_batch_end(self, batch, logs=None):
        if logs is not None:
            logs["tokens_per_s"] = self.tokens[batch + 1] / (time.perf_counter() - self.started)

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None and self.tokens[-1]:
            logs["tokens_per_s"] = self.tokens[-1] / (time.perf_counter() - self.started)


class KeepFreedMemory(keras.callbacks.Callback):
    """Calls `keep_freed_memory` when the first step of `fit` has been made."""

    async_safe = True

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 1:
            keep_freed_memory()


class WholeHistory(keras.callbacks.History):
    """The history of a run, whatever sessions it was made in: nothing is forgotten when `fit` begins."""

    def __init__(self):
        super().__init__()
        self.epoch = []

    def on_train_begin(self, logs=None):
        """Keras' own begins a new list of epochs here."""

    def get_state(self):
        """What `set_state` takes back."""
        history = {key: [float(value) for value in values] for key, values in self.history.items()}
        return {"epoch": list(self.epoch), "history": history}

    def set_state(self, state):
        """Goes on from what `get_state` returned."""
        self.epoch, self.history = state["epoch"], state["history"]


class HeldOut(keras.callbacks.Callback):
    """Adds figures of held-out pairs to the logs after every epoch.

    `val_loss` (nats a token, without label smoothing), `val_perplexity` and `val_token_accuracy` by teacher
    forcing, and `val_bleu` by search: sacrebleu's, on text.

    Args:
        translate: a function that translates a list of str with the model as it is; `None`: no search, and no
            `val_bleu`.
        sources: list of str.
        references: list of str.
        batches: `TokenBatches` of the same pairs.
    """

    def __init__(self, translate, sources, references, batches):
        super().__init__()
        self.translate = translate
        self.sources = sources
        self.references = references
        self.batches = batches

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs.update(self.figures(self.model))

    def figures(self, model):
        """The figures of a model, a dict."""
        from keraszoo.evaluation.translation import score_translations

        perplexity, accuracy = token_figures(model, self.batches)
        figures = {
            "val_loss": float(np.log(perplexity)),
            "val_perplexity": perplexity,
            "val_token_accuracy": accuracy,
        }
        if self.translate is not None:
            scores = score_translations(self.translate(self.sources), self.references)
            figures["val_bleu"] = scores.bleu.score
        return figures


def token_figures(model, batches):
    """Perplexity and share of right tokens of a model by teacher forcing, over all batches."""
    metrics = Perplexity(), TokenAccuracy()
    for i in range(len(batches)):
        inputs, target_out, weight = batches.batch(0, i)
        logits = _forward(model)(*inputs)
        for metric in metrics:
            metric.update_state(target_out, logits, weight)
    return tuple(float(metric.result()) for metric in metrics)


@functools.lru_cache(maxsize=2)
def _forward(model):
    """The model by teacher forcing as a function that is traced once for all lengths (by JAX, for each)."""

    def logits(source, target_in):
        return model((source, target_in), training=False)

    if keras.backend.backend() != "tensorflow":
        return jitted_on_jax(logits, model)
    import tensorflow as tf

    return tf.function(logits, input_signature=[tf.TensorSpec([None, None], "int32")] * 2, autograph=False)


class BestWeights(keras.callbacks.Callback):
    """Keeps the weights of the best epoch, and stops when it has been the best for too long.

    Args:
        monitor: `"val_bleu"`, more is better, or `"val_loss"`, less is. Between equal BLEUs the loss decides:
            BLEU is 0 until four words in a row are right, and always where every text is a single word.
        patience: epochs without a better value after which training stops; `None`: never.
        save: a function called with the logs whenever an epoch is the best so far.
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
        """What `set_state` takes back, of JSON values and a list of arrays."""
        logs = None if self.logs is None else {key: float(value) for key, value in self.logs.items()}
        return {"best_epoch": self.best_epoch, "logs": logs, "weights": self.weights}

    def set_state(self, state):
        """Goes on from what `get_state` returned."""
        self.best_epoch, self.logs, self.weights = state["best_epoch"], state["logs"], state["weights"]


class LastWeights(keras.callbacks.Callback):
    """Keeps the weights of the last k epochs; `mean` is their average, number by number.

    Averaging the last checkpoints is what the Transformer's paper does before it translates (section 6.1).

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
        """What `set_state` takes back: lists of arrays."""
        return {str(i): weights for i, weights in enumerate(self.kept)}

    def set_state(self, state):
        """Goes on from what `get_state` returned."""
        self.kept = [state[str(i)] for i in range(len(state))]

    def mean(self):
        """A list for `model.set_weights`; whole numbers (states of generators) are the last ones."""
        average = [np.mean(parts, axis=0, dtype="float64") for parts in zip(*self.kept, strict=True)]
        last = self.kept[-1]
        return [
            (mean if np.issubdtype(old.dtype, np.floating) else old).astype(old.dtype)
            for mean, old in zip(average, last, strict=True)
        ]

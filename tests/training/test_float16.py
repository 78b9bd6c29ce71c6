"""Training in half precision: the loss is scaled, and what overflows is not learnt from."""

import contextlib
import os
import signal

import keras
import numpy as np
import pytest

from keraszoo.models import Transformer
from keraszoo.recipes.sections import FitSection
from keraszoo.training.adam import Adam, innermost
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.divergence import Diverged
from keraszoo.training.loop import train
from keraszoo.training.losses import TokenCrossentropy

V = 12

pytestmark = pytest.mark.usefixtures("eagerly")


def new_model(dtype):
    keras.utils.set_random_seed(1)
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8, "dropout": 0.0}
    model = Transformer(V, **sizes, pre_norm=True, dtype=dtype)
    model.build()
    return model


def run(batches, dtype, steps=6, scale=None, folder=None, callbacks=(), optimizer=None, **options):
    model, settings = new_model(dtype), FitSection(steps=steps, **options)
    optimizer = optimizer or Adam(0.01, 0.9, 0.98, 1e-9, global_clipnorm=1.0)
    if scale is not None:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=scale)
    given = {"loss": TokenCrossentropy(0.1), "evaluate": None, "optimizer": optimizer, "verbose": 0}
    with Checkpoints(folder).open() if folder else contextlib.nullcontext() as checkpoints:
        return model, train(model, batches, settings, callbacks=callbacks, checkpoints=checkpoints, **given)


def test_it_learns_what_float32_learns(batches):
    """With SGD: Adam divides by a gradient's size, so it makes a step of what is rounded in a small one."""
    half, history = run(batches, "mixed_float16", optimizer=keras.optimizers.SGD(0.3, global_clipnorm=1.0))
    full, wanted = run(batches, "float32", optimizer=keras.optimizers.SGD(0.3, global_clipnorm=1.0))
    assert float(half.optimizer.dynamic_scale) == 2**15
    assert int(innermost(half.optimizer).iterations) == 6
    assert history.history["loss"] == pytest.approx(wanted.history["loss"], rel=1e-3)
    weights = zip(*(model.trainable_weights for model in (half, full, new_model("float32"))), strict=True)
    for weight, other, before in weights:
        if not weight.path.endswith("/W_k/bias"):  # whose gradient is zero but for rounding
            moved = np.abs(other.numpy() - before.numpy()).max()
            assert np.abs(weight.numpy() - other.numpy()).max() < 0.02 * moved, weight.path


def test_no_scale_that_is_small_enough(batches):
    keras.utils.set_random_seed(1)
    with pytest.raises(Diverged, match="step 2, batch .* no gradient is finite, even at a loss scale of 0.5"):
        run(batches, "mixed_float16", scale=1.0, callbacks=[Spoil()])


class Spoil(keras.callbacks.Callback):
    """Weights so large that the activations overflow at every scale of the loss."""

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 1:
            for weight in self.model.trainable_weights:
                weight.assign(weight * 1e6 + 1e5)


class Stop(keras.callbacks.Callback):
    """Ctrl-C in the third step."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == 3:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_a_run_that_was_stopped_ends_with_the_same_weights(batches, tmp_path):
    whole, _ = run(batches, "mixed_float16", steps=5, steps_per_evaluation=2)
    options = {"steps": 5, "steps_per_evaluation": 2}
    with pytest.raises(KeyboardInterrupt):
        run(batches, "mixed_float16", folder=tmp_path / "run", callbacks=[Stop()], **options)
    resumed, _ = run(batches, "mixed_float16", folder=tmp_path / "run", **options)
    for ours, wanted in zip(resumed.optimizer.variables, whole.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), wanted.numpy())
    for ours, wanted in zip(resumed.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), wanted.numpy())

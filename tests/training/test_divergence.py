"""A training that goes wrong: seen at the step that did it, and nothing of it is kept; half precision."""

import contextlib
import itertools
import os
import signal

import keras
import numpy as np
import pytest

from keraszoo.models import Transformer
from keraszoo.recipes.sections import FitSection
from keraszoo.training.adam import Adam, innermost
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.divergence import Diverged, diverged_at
from keraszoo.training.loop import train
from keraszoo.training.losses import TokenCrossentropy


class Spoil(keras.callbacks.Callback):
    """Puts a number into a weight before a step, or after it."""

    def __init__(self, step, weight, number, after=False):
        super().__init__()
        self.step, self.weight, self.number, self.after, self.before = step, weight, number, after, None

    def spoil(self, after):
        if self.step == 0 and self.after == after:
            variable = next(v for v in self.model.trainable_variables if self.weight in v.path)
            value = np.array(variable.numpy())
            value.flat[0] = self.number
            variable.assign(value)

    def on_train_batch_begin(self, batch, logs=None):
        self.step -= 1
        self.spoil(after=False)
        if self.step >= 0:
            self.before = [v.numpy().copy() for v in self.model.trainable_variables]

    def on_train_batch_end(self, batch, logs=None):
        self.spoil(after=True)


def new_model(dtype="float32"):
    keras.utils.set_random_seed(1)
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8, "dropout": 0.0}
    model = Transformer(12, **sizes, pre_norm=True, dtype=dtype)
    model.build()
    return model


@pytest.fixture
def model():
    return new_model()


def run(model, batches, optimizer=None, loss=None, folder=None, callbacks=(), **options):
    settings = FitSection(**{"steps": 9, "steps_per_evaluation": 5, **options})
    optimizer = optimizer or Adam(0.01, 0.9, 0.98, 1e-9, global_clipnorm=1.0)
    given = {"loss": loss or TokenCrossentropy(0.1), "optimizer": optimizer, "callbacks": callbacks}
    with Checkpoints(folder).open() if folder else contextlib.nullcontext() as checkpoints:
        return train(model, batches, settings, evaluate=None, checkpoints=checkpoints, verbose=0, **given)


def test_a_gradient_that_is_not_finite(model, batches, tmp_path):
    spoil = Spoil(4, "W_1", np.nan)  # before a ReLU, which hides NaN from the loss where kernels are fused
    with pytest.raises(Diverged) as error:
        run(model, batches, callbacks=[spoil], folder=tmp_path / "run", checkpoint_steps=2)
    epoch, i = error.value.address
    assert error.value.step == 4 and (epoch, i) == divmod(3, len(batches))
    said = f"training diverged at step 4, batch {i} of epoch {epoch}: "
    assert str(error.value).startswith(said) and str(error.value).endswith("or a global_clipnorm")
    for before, after in zip(spoil.before, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(before, after.numpy())  # that step changed no weight
    with Checkpoints(tmp_path / "run").open() as checkpoints:
        newest = checkpoints.newest()
    weights = [array for name, array in newest.arrays.items() if name.startswith("model/variables")]
    assert newest.step == 2 and weights and all(np.isfinite(array).all() for array in weights)


@pytest.mark.usefixtures("eagerly")
def test_weights_that_are_not_finite_are_not_saved(model, batches, tmp_path):
    spoil = Spoil(2, "embeddings", np.nan, after=True)
    with pytest.raises(Diverged, match="step 2, .*: the weights are no longer finite, and are not saved"):
        run(model, batches, callbacks=[spoil], folder=tmp_path / "run", checkpoint_steps=2)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("eagerly")
def test_a_rate_that_is_too_high_is_seen_at_once(model, batches):
    with pytest.raises(Diverged, match="diverged at step 1, .*: the weights are no longer finite"):
        run(model, batches, Adam(1e30))


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite(loss, model, batches):
    """Another optimizer than ours measures neither gradients nor weights."""

    class Lost(keras.losses.Loss):
        calls = 0

        def call(self, y_true, y_pred):
            Lost.calls += 1
            return 0 * keras.ops.sum(y_pred) + (1.0 if Lost.calls <= 5 else loss)

    with pytest.raises(Diverged, match="diverged: the loss of period 2 is (nan|inf); take") as error:
        run(model, batches, keras.optimizers.SGD(0.0), Lost())
    assert error.value.step is None


def test_a_batch_in_parts_is_named_by_its_update():
    error = diverged_at(4 * 7 + 6, "the norm of its gradient is nan", 7, parts=4)
    assert error.step == 9 and error.address == (1, 1)
    assert "diverged at step 9, part 2 of 4, batch 1 of epoch 1: the norm" in str(error)


@pytest.mark.usefixtures("eagerly")
def test_half_precision_learns_what_float32_learns(batches):
    """With SGD: Adam divides by a gradient's size, so it makes a step of what is rounded in a small one."""
    (half, history), (full, wanted) = (
        (model, run(model, batches, keras.optimizers.SGD(0.3, global_clipnorm=1.0), steps=6))
        for model in (new_model("mixed_float16"), new_model())
    )
    assert float(half.optimizer.dynamic_scale) == 2**15
    assert int(innermost(half.optimizer).iterations) == 6
    assert history.history["loss"] == pytest.approx(wanted.history["loss"], rel=1e-3)
    weights = zip(*(model.trainable_weights for model in (half, full, new_model())), strict=True)
    for weight, other, before in weights:
        if not weight.path.endswith("/W_k/bias"):  # whose gradient is zero but for rounding
            moved = np.abs(other.numpy() - before.numpy()).max()
            assert np.abs(weight.numpy() - other.numpy()).max() < 0.02 * moved, weight.path


@pytest.mark.usefixtures("eagerly")
def test_no_scale_of_the_loss_is_small_enough(batches):
    optimizer = keras.optimizers.LossScaleOptimizer(Adam(0.01), initial_scale=1.0)
    spoil = Spoil(2, "W_1", 1e6)  # the activations overflow at every scale
    with pytest.raises(Diverged, match="step 2, batch .* no gradient is finite, even at a loss scale of 0.5"):
        run(new_model("mixed_float16"), batches, optimizer, callbacks=[spoil])


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_a_stopped_run_in_half_precision_ends_with_the_same_weights(batches, tmp_path):
    options, steps = {"steps": 5, "steps_per_evaluation": 2}, itertools.count(1)
    whole, resumed = new_model("mixed_float16"), new_model("mixed_float16")
    run(whole, batches, **options)
    stop = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: next(steps) == 3 and os.kill(os.getpid(), signal.SIGINT)
    )
    with pytest.raises(KeyboardInterrupt):
        run(new_model("mixed_float16"), batches, folder=tmp_path / "run", callbacks=[stop], **options)
    run(resumed, batches, folder=tmp_path / "run", **options)
    for ours, wanted in zip(resumed.optimizer.variables, whole.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), wanted.numpy())
    for ours, wanted in zip(resumed.weights, whole.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), wanted.numpy())

"""What the trainings of all tasks share: places for checkpoints, and a disk that is full."""

import os
from types import SimpleNamespace

import pytest

from keraszoo.errors import PresetError, RecipeError
from keraszoo.tasks import fitting
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.translation.recipe import TrainingSection


def test_a_folder_of_checkpoints_is_deleted_when_the_run_is_over(tmp_path):
    class Stop(Exception):
        pass

    with pytest.raises(Stop), fitting.opened(tmp_path / "run", {"seed": 1}) as places:
        places.save(3, {"run": {"over": False}})
        raise Stop
    with fitting.opened(tmp_path / "run", {"seed": 1}) as places:
        assert places.newest.step == 3
    assert os.listdir(tmp_path) == []
    with fitting.opened(None, {}) as places:
        assert places is None


def test_open_checkpoints_are_left_to_whom_they_belong(tmp_path):
    with Checkpoints(tmp_path / "run", {"recipe": 1}).open() as given:
        with fitting.opened(given, {"data": "a"}) as places:
            assert places is given
            places.save(3, {"run": {"over": False}})
    with Checkpoints(tmp_path / "run", {"recipe": 1}).open() as given:
        with pytest.raises(RecipeError, match='data was "a", is "b"'), fitting.opened(given, {"data": "b"}):
            pass


def test_a_best_model_that_cannot_be_saved_for_want_of_room_ends_nothing():
    def fail(cause):
        def save(logs):
            raise PresetError("model: cannot be written: No space left on device") from cause

        return save

    with pytest.warns(
        UserWarning, match="the best model so far was not saved: model: cannot .*; training goes"
    ):
        fitting._try(fail(OSError()), {})
    with pytest.raises(PresetError):
        fitting._try(fail(None), {})


def test_rows_are_shared_by_parts():
    assert fitting.rows_multiple(TrainingSection(accumulate=3)) == 3


def test_what_decides_nothing_may_change():
    one, other = (
        TrainingSection(),
        TrainingSection(checkpoint_minutes=1, checkpoint_steps=5, tensorboard=True),
    )
    assert one.deciding() == other.deciding() != TrainingSection(accumulate=2).deciding()


def test_xla_does_not_go_with_a_strategy(monkeypatch):
    monkeypatch.setattr(fitting, "make_strategy", lambda *arguments: object())
    settings = TrainingSection(strategy="mirrored", jit_compile=True)
    with pytest.raises(RecipeError, match="`jit_compile: true` does not work with a `strategy`"):
        fitting.fit_and_choose(None, [], settings, None)


@pytest.mark.parametrize("setting", [{"patience": 3}, {"monitor": "val_loss"}])
def test_what_needs_a_validation_is_refused_without(setting):
    model = SimpleNamespace(dtype_policy=SimpleNamespace(name="float32"))
    with pytest.raises(RecipeError, match=f"fit: {next(iter(setting))}: there is no validation"):
        fitting.begin(model, TrainingSection(**setting), validated=False)
    fitting.begin(model, TrainingSection(**setting))


def test_a_run_can_be_asked_to_repeat_itself(monkeypatch):
    import tensorflow as tf

    asked = []
    monkeypatch.setattr(tf.config.experimental, "enable_op_determinism", lambda: asked.append(True))
    model = SimpleNamespace(dtype_policy=SimpleNamespace(name="float32"))
    fitting.begin(model, TrainingSection())
    assert not asked
    fitting.begin(model, TrainingSection(deterministic=True))
    assert asked
    monkeypatch.setattr(fitting.keras.backend, "backend", lambda: "jax")
    with pytest.raises(RecipeError, match="deterministic: TensorFlow's; of JAX XLA_FLAGS="):
        fitting.begin(model, TrainingSection(deterministic=True))


def test_a_run_is_not_taken_up_with_another_number_of_devices_or_shapes(tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def begin_and_stop(*arguments):
        arguments[-1].save(1, {"run": {"over": False}})
        raise Stop

    def fit(replicas, shapes):
        batches = SimpleNamespace(replicas=replicas, shapes=shapes)
        task, folder = SimpleNamespace(model=None), tmp_path / "run"
        fitting.fit_task(task, batches, TrainingSection(), None, None, None, folder, "data", "tokens")

    monkeypatch.setattr(fitting, "fit_and_choose", begin_and_stop)
    for _ in range(2):
        with pytest.raises(Stop):
            fit(2, None)
    with pytest.raises(RecipeError, match="batches.rows_multiple was 2, is 4"):
        fit(4, None)
    with pytest.raises(RecipeError, match="batches.shapes was None, is 16"):
        fit(2, 16)

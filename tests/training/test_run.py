"""Stopped and resumed runs end with exactly the weights of uninterrupted runs."""

import contextlib
import errno
import io
import os
import re
import signal
import sys
import warnings

import keras
import numpy as np
import pytest

from keraszoo.errors import DataError, PresetError
from keraszoo.models import RNNSearch, Transformer
from keraszoo.tasks.recipe_base import FitSection
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.adam import Adam
from keraszoo.training.addressed_batches import step_in_words
from keraszoo.training.callbacks import BestWeights, LastWeights, WholeHistory
from keraszoo.training.checkpoint_callback import SaveCheckpoints, model_state
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.training.run import Run, train
from keraszoo.training.token_batches import TokenBatches

V = 12
FIGURES = ("learning_rate", "loss", "val_loss")
MODELS = {
    "rnn": lambda: RNNSearch(V, embedding_dim=4, units=3, dropout=0.3),
    "transformer": lambda: Transformer(
        V, d_model=4, num_layers=1, num_heads=2, intermediate_dim=4, dropout=0.3, pre_norm=True
    ),
}


class Judge(keras.callbacks.Callback):
    """Figures that rise and fall, in place of an evaluation."""

    def on_epoch_end(self, epoch, logs=None):
        logs["val_loss"] = [3.0, 1.0, 2.0, 1.5, 0.5, 4.0][epoch]


class At(keras.callbacks.Callback):
    """Does something when so many steps are made."""

    def __init__(self, step, act):
        super().__init__()
        self.left, self.act = step, act

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            self.act(self.model)


@pytest.fixture
def batches():
    draw = np.random.default_rng(0)
    rows = [[draw.integers(4, V, size=draw.integers(1, 5)).tolist() for _ in range(18)] for _ in range(2)]
    corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)
    return TokenBatches(corpus, 32, seed=1, replicas=2, shapes=None)


def run(batches, kind="rnn", folder=None, at=None, parts=1, eager=True, steps=7, **options):
    """Trains a new model; what it ends with is what decides everything else."""
    keras.utils.set_random_seed(1)
    model = MODELS[kind]()
    model.build()
    best, last = BestWeights("val_loss", patience=4), LastWeights(2)

    def compile_model(model):
        optimizer = Adam(InverseSquareRoot(0.01, 5), 0.9, 0.98, 1e-9, global_clipnorm=1.0, accumulate=parts)
        model.compile(optimizer, TokenCrossentropy(0.1), run_eagerly=eager, jit_compile=False)

    verbose, callbacks = options.pop("verbose", 0), options.pop("callbacks", [])
    settings = FitSection(steps=steps, steps_per_evaluation=3, accumulate=parts, **options)
    run = Run(settings, compile_model=compile_model, evaluations=[Judge(), best, last], verbose=verbose)
    run.callbacks = callbacks if at is None else [*callbacks, at]
    if folder is None:
        history = train(model, batches, run)
    else:
        with Checkpoints(folder, {"seed": 1}).open() as run.checkpoints:
            history = train(model, batches, run)
    arrays = [v.numpy() for v in [*model.variables, *model.optimizer.variables]]
    arrays += [*best.weights, *last.mean(), *(np.array(history.history[key]) for key in FIGURES)]
    return arrays, best.best_epoch, history.epoch, history.steps, history.target_tokens


def same(one, other):
    assert all(map(np.array_equal, one[0], other[0])) and len(one[0]) == len(other[0])
    assert one[1:] == other[1:]


@contextlib.contextmanager
def recorded():
    """The texts of the warnings of keraszoo, in a list; those of NumPy on Keras are not asked for."""
    texts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [str(warning.message) for warning in caught if warning.category is UserWarning]


def interrupt(kind):
    return lambda model: os.kill(os.getpid(), kind)


@pytest.mark.parametrize(("parts", "steps"), [(1, (1, 5)), pytest.param(2, (7,), marks=pytest.mark.slow)])
def test_stopped_at_any_step_a_run_ends_with_the_same_weights(batches, tmp_path, capsys, parts, steps):
    whole = run(batches, "transformer", parts=parts)
    assert whole[1:4] == (1, [0, 1, 2], 7)
    rates = [0.01 * min(step / 5, (5 / step) ** 0.5) for step in (4, 7, 8)]  # of the update that comes next
    np.testing.assert_allclose(whole[0][-3], rates, rtol=1e-6)
    for step in steps:
        with pytest.raises(KeyboardInterrupt):
            run(batches, "transformer", tmp_path / str(step), At(step, interrupt(signal.SIGINT)), parts)
        assert (
            f"SIGINT: stopped after {step_in_words(step, parts)}, it is saved in" in capsys.readouterr().err
        )
        same(run(batches, "transformer", tmp_path / str(step), parts=parts), whole)
        assert f"resuming after step {step // parts} of 7" in capsys.readouterr().err


def test_a_run_that_goes_on_counts_its_periods_as_if_it_had_not_been_stopped(batches, tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt):
        run(batches, folder=tmp_path / "run", at=At(4, interrupt(signal.SIGINT)), verbose=2)
    assert re.findall(r"Epoch \S+", capsys.readouterr().out) == ["Epoch 1/3", "Epoch 2/3"]
    run(batches, folder=tmp_path / "run", verbose=2)
    assert re.findall(r"Epoch \S+", capsys.readouterr().out) == ["Epoch 2/3", "Epoch 3/3"]


def test_a_checkpoint_beyond_the_end_of_the_run_is_refused(batches, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(batches, folder=tmp_path / "run", at=At(2, interrupt(signal.SIGINT)))
    with pytest.raises(PresetError, match="after step 2 of only 1"):
        run(batches, folder=tmp_path / "run", steps=1)


STRANGE = [
    ({"history": {"epoch": [0], "history": 5}}, "not a valid run: AttributeError"),
    ({"history": {"epoch": [0], "history": {"loss": ["x"]}}}, "not a valid run: ValueError"),
    ({"history": {}}, "not a valid run: KeyError: 'epoch'"),
    ({"run": {"over": False, "seconds": "a", "elapsed": 0.0}}, "not a valid run: ValueError"),
    ({"bestweights": {"best_epoch": 0, "logs": 5, "weights": []}}, "not a valid run: AttributeError"),
    ({"model": {"variables": 5}}, "not a valid run: TypeError"),
    ({"model": None}, "the run in it has no model"),
]


def test_a_checkpoint_of_wrong_content_is_one_line(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    kept = {"history": WholeHistory(), "bestweights": BestWeights("val_loss")}
    parts = {name: part.get_state() for name, part in kept.items()}
    parts |= {"model": model_state(model), "run": {"over": False, "seconds": 0.0, "elapsed": 0.0}}
    for i, (wrong, said) in enumerate([({}, None), *STRANGE]):
        changed = {name: part for name, part in {**parts, **wrong}.items() if part is not None}
        with Checkpoints(tmp_path / str(i), {}).open() as checkpoints:
            checkpoints.save(6, changed)
        with Checkpoints(tmp_path / str(i), {}).open() as checkpoints:
            saving = SaveCheckpoints(Run(FitSection(), checkpoints=checkpoints), kept)
            with contextlib.nullcontext() if said is None else pytest.raises(PresetError, match=said):
                saving.restore(model)
                assert saving.step == 6


def test_callbacks_of_one_class_have_states_of_their_own(batches, tmp_path):
    class Counting(keras.callbacks.Callback):
        def __init__(self, count):
            super().__init__()
            self.count = count

        def on_epoch_end(self, epoch, logs=None):
            self.count += 1

        def get_state(self):
            return {"count": self.count}

        def set_state(self, state):
            self.count = state["count"]

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(batches, folder=folder, at=At(4, interrupt(signal.SIGINT)), callbacks=[Counting(0), Counting(9)])
    counting = [Counting(0), Counting(9)]
    run(batches, folder=folder, callbacks=counting)
    assert [callback.count for callback in counting] == [3, 12]


def test_on_a_terminal_a_bar_counts_the_steps_of_the_whole_run(batches, tmp_path, monkeypatch):
    texts = []
    for at in (At(4, interrupt(signal.SIGINT)), None):
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("COLUMNS", "120")
        with contextlib.nullcontext() if at is None else pytest.raises(KeyboardInterrupt):
            history = run(batches, folder=tmp_path / "run", at=at, verbose=None)[0][-2]
        texts.append(terminal.getvalue())
    steps = [[int(step) for step in re.findall(r"(\d+)/7", text)] for text in texts]
    assert steps[0][-1] == 4 == min(steps[1]) and steps[1][-1] == 7
    assert all(text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1 for text in texts)  # cursor off, on
    assert f"epoch 3: loss {history[2]:.4g}  val_loss 2" in texts[1].replace("evaluation", "epoch")
    last = texts[1].splitlines()[-2]
    last = re.sub(r"\x1b\[\d*m", "", last)
    assert "tokens/s 0:00:00 left loss" in last and "best 1.00" in last and "evaluating" in texts[1]


@pytest.mark.slow
def test_in_a_graph_it_is_the_same_after_a_crash_and_after_two_polite_kills(batches, tmp_path):
    def crash(model):
        raise MemoryError

    whole = run(batches, eager=False)
    options = {"folder": tmp_path / "run", "eager": False, "checkpoint_steps": 2}
    with pytest.raises(MemoryError):
        run(batches, at=At(5, crash), **options)
    for _ in range(2):  # from step 4 to 5, then to the end of the second period
        with pytest.raises(SystemExit) as end:
            run(batches, at=At(1, interrupt(signal.SIGTERM)), **options)
        assert end.value.code == 143
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000005", "step-00000006"]
    same(run(batches, **options), whole)
    same(run(batches, **options), whole)  # nothing is left to do


def test_patience_that_ran_out_is_remembered(batches, tmp_path):
    options = {"folder": tmp_path / "run", "steps": 24}

    class Impatient(At):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 1

    ended = run(batches, at=Impatient(99, None), **options)
    assert ended[2:4] == ([0, 1], 6)
    same(run(batches, **options), ended)


def test_a_full_disk_ends_nothing(batches, tmp_path, monkeypatch, capsys):
    whole, savez = run(batches), np.savez

    def full(path, **arrays):
        if 3 <= int(arrays.get("optimizer/0", 0)) <= 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        savez(path, **arrays)

    monkeypatch.setattr(np, "savez", full)
    options = {"folder": tmp_path / "run", "checkpoint_steps": 1}
    said = r"no checkpoint of step [3456]: .*No space left on device; the last good one is from step 2"
    with recorded() as warned:
        same(run(batches, **options), whole)
    assert [bool(re.match(said, text)) for text in warned] == [True] * 4
    with recorded(), pytest.raises(KeyboardInterrupt):
        run(batches, at=At(5, interrupt(signal.SIGINT)), **{**options, "folder": tmp_path / "other"})
    said = "SIGINT: stopped after step 5, but it could not be saved; it resumes from step 2"
    assert said in capsys.readouterr().err
    monkeypatch.setattr(np, "savez", savez)
    same(run(batches, folder=tmp_path / "other"), whole)


def test_a_run_that_could_never_save_a_checkpoint_ends_at_once(batches, tmp_path, monkeypatch, full_disk):
    steps = At(99, None)
    with pytest.raises(DataError, match="step-00000000: cannot be written: File too large"):
        run(batches, folder=tmp_path / "run", at=steps)
    assert steps.left == 99

    def full(path, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)  # the disk is full when the first one is saved
    monkeypatch.setattr(Checkpoints, "check_room", lambda self, size: None)
    with pytest.raises(PresetError, match="step-00000002: cannot be written: No space left on device"):
        run(batches, folder=tmp_path / "run", at=steps, checkpoint_steps=2)
    assert steps.left == 97 and os.listdir(tmp_path) == []


def test_without_checkpoints_signals_are_left_alone(batches):
    def note(number, frame):
        raise ZeroDivisionError

    before = signal.signal(signal.SIGTERM, note)
    try:
        with pytest.raises(ZeroDivisionError):
            run(batches, at=At(2, interrupt(signal.SIGTERM)))
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_that_comes_while_fit_ends_is_not_lost(batches, tmp_path):
    end = keras.callbacks.LambdaCallback(on_train_end=lambda logs: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit):
        run(batches, folder=tmp_path / "run", callbacks=[end])
    same(run(batches, folder=tmp_path / "run"), run(batches))


def test_between_evaluations_a_run_is_saved_every_so_many_minutes(batches, tmp_path):
    def crash(model):
        raise MemoryError

    with pytest.raises(MemoryError):
        run(batches, folder=tmp_path / "run", at=At(5, crash), checkpoint_minutes=1e-9)
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000003", "step-00000004"]

"""Stopped and resumed runs end with exactly the weights of uninterrupted runs."""

import contextlib
import errno
import io
import itertools
import os
import re
import signal
import sys
import warnings
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keraszoo.errors import DataError, PresetError
from keraszoo.layers import mixture_of_experts
from keraszoo.models import Transformer
from keraszoo.recipes.sections import OptimizerSection
from keraszoo.training.adam import Adam
from keraszoo.training.addressed_batches import step_in_words
from keraszoo.training.callbacks import BetweenSteps
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.loop import choose_weights, is_better, mean_weights, resumed, steps_of, train, uses_xla
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.training.state import Best, Progress, model_state, pack
from keraszoo.translation.recipe import TrainingSection

V = 12
SIZES = {"d_model": 4, "num_layers": 1, "num_heads": 2, "intermediate_dim": 4, "dropout": 0.3}
FIGURES = ("learning_rate", "loss", "val_loss")

pytestmark = pytest.mark.usefixtures("eagerly")


def bag():
    """A model with dropout that is traced in no time: each word from the one before and the whole source."""
    source, target_in = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(V, 4)
    read = keras.layers.GlobalAveragePooling1D(keepdims=True)(words(source))
    states = keras.layers.Dropout(0.3)(words(target_in) + read)
    return keras.Model((source, target_in), keras.layers.Dense(V)(states))


def transformer(**options):
    model = Transformer(V, **SIZES, **options)
    model.build()
    return model


MODELS = {
    "bag": bag,
    "transformer": lambda: transformer(pre_norm=True),
    "experts": lambda: transformer(num_experts=4),
}


def judge(model):
    """Figures that rise and fall with the periods of three updates, in place of an evaluation."""
    return {"val_loss": [3.0, 1.0, 2.0, 1.5, 0.5, 4.0][-(-int(model.optimizer.iterations) // 3) - 1]}


class At(keras.callbacks.Callback):
    """Does something when so many steps are made."""

    def __init__(self, step, act):
        super().__init__()
        self.left, self.act = step, act

    def on_train_batch_end(self, batch, logs=None):
        self.left -= 1
        if self.left == 0:
            self.act(self.model)


def run(batches, kind="bag", folder=None, at=None, parts=1, steps=7, **options):
    """Trains a new model; what it ends with is what decides everything else."""
    keras.utils.set_random_seed(1)
    model = MODELS[kind]()
    optimizer = Adam(InverseSquareRoot(0.01, 5), 0.9, 0.98, 1e-9, global_clipnorm=1.0, accumulate=parts)
    callbacks = [*options.pop("callbacks", []), *([] if at is None else [at])]
    given = {"verbose": options.pop("verbose", 0), "callbacks": callbacks, "optimizer": optimizer}
    section = {"monitor": "val_loss", "patience": 4, "average_last": 2, "steps_per_evaluation": 3, **options}
    settings = TrainingSection(steps=steps, accumulate=parts, **section)
    given |= {"loss": TokenCrossentropy(0.1), "evaluate": judge}
    with contextlib.ExitStack() as stack:
        if folder is not None:
            given["checkpoints"] = stack.enter_context(Checkpoints(folder).open())
        history = train(model, batches, settings, **given)
    arrays = [v.numpy() for v in [*model.variables, *model.optimizer.variables]]
    arrays += [np.array(history.history[key]) for key in FIGURES]
    return arrays, history.chosen, history.epoch, history.steps, history.target_tokens


def same(one, other):
    assert all(map(np.array_equal, one[0], other[0])) and len(one[0]) == len(other[0])
    assert one[1:] == other[1:]


@contextlib.contextmanager
def recorded():
    """The texts of the warnings about checkpoints, in a list."""
    texts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [str(warning.message) for warning in caught if "no checkpoint" in str(warning.message)]


def interrupt(kind):
    return lambda model: os.kill(os.getpid(), kind)


@pytest.mark.parametrize(
    ("kind", "parts", "steps"),
    [
        ("transformer", 1, (5,)),
        pytest.param("transformer", 2, (1, 7), marks=pytest.mark.slow),
        pytest.param("experts", 2, (7,), marks=pytest.mark.slow),  # between two parts of a batch
    ],
)
def test_stopped_at_any_step_a_run_ends_with_the_same_weights(batches, tmp_path, capsys, kind, parts, steps):
    whole = run(batches, kind, parts=parts)
    assert whole[1:4] == ({"val_loss": 1.0}, [0, 1, 2], 7)
    rates = [0.01 * min(step / 5, (5 / step) ** 0.5) for step in (4, 7, 8)]  # of the update that comes next
    np.testing.assert_allclose(whole[0][-3], rates, rtol=1e-6)
    for step in steps:
        with pytest.raises(KeyboardInterrupt):
            run(batches, kind, tmp_path / str(step), At(step, interrupt(signal.SIGINT)), parts)
        said = f"SIGINT: stopped after {step_in_words(step, parts)}, it is saved in"
        assert said in capsys.readouterr().err
        same(run(batches, kind, tmp_path / str(step), parts=parts), whole)
        assert f"resuming after step {step // parts} of 7" in capsys.readouterr().err


def test_losses_of_layers_are_added_to_the_token_loss(batches, monkeypatch):
    def first_loss(variation):
        monkeypatch.setattr(mixture_of_experts, "cv_squared", lambda sums: variation * keras.ops.ones(2))
        return run(batches, "experts", steps=1)[0][-2][0]

    of_layers = 2 * (0.1 * 3 + 0.1 * 3)  # one in the encoder, one in the decoder
    np.testing.assert_allclose(first_loss(3.0) - first_loss(0.0), of_layers, rtol=1e-5)


def test_after_a_run_in_parts_a_call_is_a_whole_batch(batches):
    models = []
    run(batches, "experts", at=At(1, models.append), parts=2, steps=1)
    (model,), (inputs, *_) = models, batches.batch(0, 0)
    states = [v for v in model.non_trainable_variables if v.name in ("sums", "part")]
    for _ in range(3):
        model(inputs, training=True)
    assert len(states) == 4 and not any(np.any(v.numpy()) for v in states)


class Counting(keras.callbacks.Callback):
    """Counts periods, from a number on."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def on_epoch_end(self, epoch, logs=None):
        self.count += 1

    def get_state(self):
        return {"count": self.count}

    def set_state(self, state):
        self.count = state["count"]


def test_a_resumed_run_counts_its_periods_and_restores_callbacks_of_one_class(batches, tmp_path, capsys):
    def shown():
        text = capsys.readouterr().out
        return re.findall(r"Epoch \S+", text), re.findall(r"^(\d+/\d+) - ", text, re.M)

    options = {"folder": tmp_path / "run", "verbose": 2}
    with pytest.raises(KeyboardInterrupt):
        at = At(4, interrupt(signal.SIGINT))
        run(batches, at=at, callbacks=[Counting(0), Counting(9)], **options)
    assert shown()[0] == ["Epoch 1/3", "Epoch 2/3"]
    with pytest.raises(PresetError, match="the run in it is after step 4 of only 1"):
        run(batches, steps=1, folder=options["folder"], callbacks=[Counting(0), Counting(9)])
    counting = [Counting(0), Counting(9)]
    run(batches, callbacks=counting, **options)
    assert [callback.count for callback in counting] == [3, 12]
    periods, steps = shown()  # each period shows the steps it makes
    assert periods == ["Epoch 2/3", "Epoch 3/3"] and steps[-1] == "1/1"


def best(weights, **figures):
    return {"period": 0, "figures": figures or {"val_loss": 1.0}, "weights": weights}


WRONG_BEST = {"period": 0, "figures": 5, "weights": []}
STRANGE = [
    ("run", {"figures": 5}, "run: figures: expected a valid dictionary, got 5"),
    ("run", {"figures": {"loss": ["x"]}}, "run: figures.loss.0: expected a valid number, .*, got 'x'"),
    ("run", {"best": WRONG_BEST}, "run: best.figures: expected a valid dictionary, got 5"),
    ("run", {"seconds": "a"}, "run: seconds: expected a valid number, .*, got 'a'"),
    ("run", {"last": 5}, "run: last: expected a valid list, got 5"),
    ("run", None, "run: expected a section with some of .*, got 5"),
    ("run", {"last": [[np.zeros(1)]]}, "a checkpoint of another model: last: expected 2 arrays, got 1"),
    ("run", {"best": best([np.zeros((1, 2)), np.zeros(1)])}, r"another model: best: .*\(1, 2\) for \(2, 1\)"),
    ("run", {"best": best([np.zeros((2, 1)), np.full(1, np.inf)])}, "best: not all numbers are finite"),
    ("run", {"best": best([np.zeros((2, 1)), np.zeros(1)], val_f1=1.0)}, "not a valid run: KeyError: 'val_l"),
    ("run", {"over": "no"}, "over: expected a valid boolean, got 'no'"),
    ("run", {"step": -5}, "after step 6, the run is at -5"),
    ("run", {"step": 8}, "the run in it is after step 8 of only 6"),
    ("model", {"metrics": 5}, "not a valid run: TypeError"),
    ("model", {"metrics": ["a"]}, "not a valid run: ValueError"),
    ("model", {"variables": 5}, "not a valid run: TypeError"),
    ("model", {"optimizer": None}, "not a valid run: TypeError"),
    ("model", {"variables": [np.full((2, 1), np.nan), np.zeros(1)]}, "variables: not all numbers are finite"),
    ("callbacks", {}, "the run in it has no state of callback 0"),
]


def test_a_checkpoint_of_wrong_content_is_one_line(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    right = {"model": model_state(model), "run": vars(Progress(step=6)), "callbacks": {"0": {"count": 1}}}

    def resume(name, content):
        with Checkpoints(tmp_path / name).open() as checkpoints:
            checkpoints.save(6, *pack(content))
        with Checkpoints(tmp_path / name).open() as checkpoints:
            settings = SimpleNamespace(monitor="val_loss")
            return resumed(model, checkpoints, {"0": Counting(0)}, 6, settings)[0].step

    assert resume("right", right) == 6
    for number, (part, values, said) in enumerate(STRANGE):
        content = {**right[part], **values} if values else 5 if values is None else {}
        with pytest.raises(PresetError, match=said):
            resume(str(number), {**right, part: content})


def test_a_longer_run_goes_on_where_a_shorter_one_ended(batches, tmp_path):
    """At the end of a period, or in a period that the longer run completes."""
    whole = run(batches, steps=9)
    for steps, periods in ((6, [0, 1]), (7, [0, 1, 2])):
        ended = run(batches, folder=tmp_path / str(steps), steps=steps)
        assert ended[2:4] == (periods, steps)
        same(run(batches, folder=tmp_path / str(steps), steps=9), whole)


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
    shown = re.sub(r"\x1b\[[\d;]*m", "", texts[1])
    assert re.search(rf"period 3: learning_rate 0\.\d+  loss {history[2]:.4g}  val_loss 2", shown)
    last = texts[1].splitlines()[-2]
    last = re.sub(r"\x1b\[\d*m", "", last)
    assert "tokens/s 0:00:00 left loss" in last and "best 1.00" in last and "evaluating" in texts[1]


def crash(model):
    raise MemoryError


@pytest.mark.slow
def test_in_a_graph_it_is_the_same_after_a_crash_and_after_two_polite_kills(batches, tmp_path):
    import tensorflow as tf

    tf.config.run_functions_eagerly(False)  # until the fixture ends
    whole = run(batches)
    options = {"folder": tmp_path / "run", "checkpoint_steps": 2}
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
    options = {"folder": tmp_path / "run", "steps": 24, "patience": 1}
    ended = run(batches, **options)
    assert ended[2:4] == ([0, 1, 2], 9)
    same(run(batches, **options), ended)
    assert len(run(batches, steps=18, epochs=99, patience=2)[2]) == 4


def test_a_full_disk_ends_nothing(batches, tmp_path, monkeypatch, capsys):
    whole, savez = run(batches), np.savez

    def full(path, **arrays):
        if 3 <= int(arrays["model/optimizer/0"]) <= 6:
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
        run(batches, "transformer", tmp_path / "run", steps)
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


def test_between_evaluations_a_run_is_saved_every_so_many_minutes(batches, tmp_path):
    with pytest.raises(MemoryError):
        run(batches, folder=tmp_path / "run", at=At(5, crash), checkpoint_minutes=1e-9)
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000003", "step-00000004"]


def test_a_signal_that_comes_while_fit_ends_is_not_lost(batches, tmp_path):
    end = keras.callbacks.LambdaCallback(on_train_end=lambda logs: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit):
        run(batches, folder=tmp_path / "run", callbacks=[end])
    same(run(batches, folder=tmp_path / "run"), run(batches))


def test_callbacks_see_one_training_with_the_figures_of_every_period(batches):
    seen = []
    hooks = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: seen.append("begin"),
        on_epoch_begin=lambda period, logs: seen.append(period),
        on_train_batch_end=lambda batch, logs: seen.append(sorted(logs)),
        on_epoch_end=lambda period, logs: seen.append(logs["val_loss"]),
        on_train_end=lambda logs: seen.append("end"),
    )
    run(batches, steps=4, callbacks=[hooks])
    step = ["loss", "tokens_per_s"]
    assert seen == ["begin", 0, step, step, step, 3.0, 1, step, 1.0, "end"]


def test_throughput_counts_real_tokens(batches, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    saver = SimpleNamespace(told_to_stop=lambda step: False, is_due=lambda step: False)
    seen, told = [], keras.callbacks.CallbackList([])
    told.on_train_batch_end = lambda batch, logs: seen.append(logs["tokens_per_s"])
    between = BetweenSteps(batches, 1, 2, saver, None, [], told)
    between.set_model(SimpleNamespace(metrics_variables=[], optimizer=None))
    between.on_epoch_begin(0)
    for batch in range(3):
        between.on_train_batch_begin(batch)
        between.on_train_batch_end(batch, {})
    between.on_epoch_end(0)
    real = [(batches.batch(*divmod(step, len(batches)))[2] > 0).sum() for step in (2, 3, 4)]
    wanted = [sum(real[:n]) / n for n in (1, 2, 3)]
    assert seen == wanted and between.rate == sum(real) / 4 and between.step == 5


# --- which weights are kept


NAN = float("nan")


@pytest.mark.parametrize(
    ("monitor", "figures"),
    [
        ("val_bleu", [(1.0, 1.0), (3.0, 1.0), (2.0, 1.0), (3.0, 1.0)]),  # BLEU and the loss of each period
        ("val_bleu", [(0.0, 3.0), (0.0, 1.0), (0.0, 2.0)]),
        ("val_loss", [(0.0, 3.0), (0.0, 1.0), (0.0, 2.0), (0.0, 1.5)]),
        ("val_loss", [(0.0, NAN), (0.0, 2.0), (0.0, NAN), (0.0, 3.0)]),
    ],
)
def test_the_second_of_these_periods_is_the_best(monitor, figures):
    best = None
    for period, (bleu, loss) in enumerate(figures):
        of_period = {"val_bleu": bleu, "val_loss": loss}
        if is_better(of_period, best, monitor):
            best = Best(period=period, figures=of_period, weights=[])
    assert best.period == 1


def test_the_mean_of_the_last_weights():
    last = [[np.array([weight], "float32"), np.array([10 * weight])] for weight in (2, 3, 4)]
    mean, whole = mean_weights(last)
    assert mean.tolist() == [3.0] and mean.dtype == "float32"
    assert whole.tolist() == [40] and whole.dtype == "int64"


@pytest.mark.parametrize(("score", "kept"), [(0.5, 2.5), (2.0, 7.0)])
def test_the_average_is_kept_where_it_is_better(score, kept):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    best = {"period": 0, "figures": {"val_loss": 1.0}, "weights": [np.full((1, 1), 7.0)]}
    progress = Progress(best=best, last=[[np.full((1, 1), weight)] for weight in (2.0, 3.0)])
    settings = TrainingSection(monitor="val_loss")
    figures = choose_weights(model, lambda model: {"val_loss": score}, progress, settings)
    assert float(model.get_weights()[0][0, 0]) == kept
    assert figures == ({"val_loss": 0.5, "averaged": 2} if score < 1 else {"val_loss": 1.0})


def test_what_a_run_derives_from_its_settings(batches):
    assert steps_of(TrainingSection(epochs=2, steps=9), range(5)) == 9
    assert steps_of(TrainingSection(epochs=1, steps=9), range(5)) == 5
    assert not uses_xla(TrainingSection()) and uses_xla(TrainingSection(jit_compile=True))
    section = OptimizerSection(schedule="constant", learning_rate=0.5)
    settings, model = TrainingSection(steps=1, optimizer=section), bag()
    train(model, batches, settings, loss=TokenCrossentropy(), evaluate=None)
    assert float(model.optimizer.learning_rate) == 0.5

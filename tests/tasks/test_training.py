"""Training of a task: what `fit` accepts and refuses, checkpoints, and a full disk."""

import math
import os
import random
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from keraszoo import Translator
from keraszoo.errors import DataError, KerasZooError, PresetError, RecipeError
from keraszoo.models import RNNSearch
from keraszoo.tasks import training
from keraszoo.tasks.training import FitPlan
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.text.subwords import Subwords
from keraszoo.training.adam import Adam
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.translation.recipe import TrainingSection

pytestmark = pytest.mark.usefixtures("eagerly")
SHORT = {"epochs": 1, "batch_tokens": 512, "verbose": 0}


class Hooks(keras.callbacks.Callback):
    """Records which hooks Keras calls, and the logs of the last epoch."""

    def __init__(self):
        super().__init__()
        self.calls, self.logs = [], None

    def on_train_begin(self, logs=None):
        self.calls.append("begin")

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(batch)

    def on_epoch_end(self, epoch, logs=None):
        self.logs = dict(logs)

    def on_train_end(self, logs=None):
        self.calls.append("end")


def test_callbacks_verbose_and_an_optimizer_are_those_of_keras(
    new_translator, train_pairs, test_pairs, capsys
):
    translator, hooks, optimizer = new_translator(), Hooks(), keras.optimizers.SGD(0.0)
    before = [weight.numpy() for weight in translator.model.trainable_variables]
    history = translator.fit(
        train_pairs[:60],
        test_pairs[:4],
        epochs=2,
        batch_tokens=512,
        callbacks=[hooks, keras.callbacks.EarlyStopping("val_loss", min_delta=9, patience=1)],
        verbose=0,
        optimizer=optimizer,
        monitor="val_loss",
    )
    assert capsys.readouterr().out == ""
    half = history.steps // 2
    assert hooks.calls == ["begin", *range(half), *range(half), "end"]
    assert not optimizer.built  # a copy of it made the updates
    assert {"loss", "val_loss"} <= set(hooks.logs)
    for weight, old in zip(translator.model.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), old)  # by the given optimizer, at a rate of 0


def test_figures_of_callbacks_are_saved(new_translator, train_pairs, tmp_path):
    class Figures(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs |= {"single": np.float32(0.5), "none": float("nan")}

    new_translator().fit(train_pairs[:60], None, tmp_path / "model", epochs=1, callbacks=[Figures()])
    training = Translator.from_preset(tmp_path / "model").metrics["training"]
    assert (training["single"], training["none"]) == ([0.5], [None])


def test_a_callback_can_stop_the_training(new_translator, train_pairs):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    history = new_translator().fit(train_pairs[:60], epochs=3, batch_tokens=512, callbacks=Stop(), verbose=0)
    assert history.epoch == [0]


@pytest.mark.slow
def test_two_thousand_pairs_and_one_epoch_end_better_than_uniform(capsys, monkeypatch):
    """Without a word on the learning rate: the warm-up fits the length of the run."""
    tf.config.run_functions_eagerly(False)  # until the fixture ends
    draw = random.Random(0)
    syllables = [a + b for a in "bdfgklmn" for b in "aeiou"]
    sources = [" ".join(draw.choices(syllables, k=8)) for _ in range(2000)]  # one length: one program
    pairs = [(source, source.upper()) for source in sources]
    subwords = Subwords.train([side for pair in pairs for side in pair], vocabulary_size=90)
    keras.utils.set_random_seed(1)
    translator = Translator(RNNSearch(90, embedding_dim=32, units=32), subwords)
    settings = {"epochs": 1, "batch_tokens": 512, "monitor": "val_loss", "verbose": 0}
    history = translator.fit(pairs, pairs[:50], **settings)
    assert history.history["val_loss"][-1] < math.log(90)
    assert "only" not in capsys.readouterr().err
    monkeypatch.setattr(training, "train", lambda *arguments, **options: pytest.fail("too far"))
    with pytest.raises(pytest.fail.Exception):  # the advice comes before the training
        translator.fit(pairs[:20], pairs[:5], **settings)
    assert "this run makes only 1 update(s)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda t, pairs: t.fit(["a b"], ["c d"]),
            r"pairs .*list\(zip\(sources, targets\)\)",
        ),
        (lambda t, pairs: t.fit(["ab", "cd"]), "expected pairs"),
        (lambda t, pairs: t.fit(pairs, ["a b"]), "validation: expected pairs"),
        (lambda t, pairs: t.fit(pairs, validation_data=pairs), "pass the held-out data as `validation`"),
        (lambda t, pairs: t.fit(pairs, batch_size=32), "`batch_tokens`"),
        (lambda t, pairs: t.fit(pairs, epoch=3), "fit: epoch: unknown key, did you mean epochs?"),
        (
            lambda t, pairs: t.translate(["a"], beam_size=3),
            "'beam_size', did you mean beam_width",
        ),
        (
            lambda t, pairs: Translator(t.source_subwords, t.model),
            r"expected \(model, source_subwords\), got",
        ),
        (lambda t, pairs: t.score("abc", "xyz"), "expected a list of str, got a str, 'abc'"),
        (lambda t, pairs: t.translate("abc"), "expected a list of str, got a str, 'abc'"),
        (lambda t, pairs: t.score(["a"], None), "targets: expected a list of str, got a NoneType"),
        (lambda t, pairs: t.translate(["a"], prefix=5), "prefix: expected a list of str, got a int"),
        (lambda t, pairs: t.fit([{"en": "a", "de": "b"}]), "train: expected pairs .* got {'en': 'a'"),
        (lambda t, pairs: t.fit([1, 2]), "train: expected pairs .* got 1 as item 0"),
        (lambda t, pairs: t.fit(pairs, patience=3), "fit: patience has no effect without validation data"),
        (
            lambda t, pairs: t.fit(pairs, monitor="val_loss"),
            "fit: monitor has no effect without validation data",
        ),
        (
            lambda t, pairs: t.fit(pairs, None, "x", "./x"),
            "checkpoints: expected a folder outside of directory",
        ),
        (
            lambda t, pairs: t.fit(pairs, None, "x", "x/checkpoints"),
            "checkpoints: expected a folder outside of directory",
        ),
        (
            lambda t, pairs: Translator(
                RNNSearch(40, 44, embedding_dim=4, units=4, dropout=False),
                t.source_subwords,
                t.target_subwords,
            ).fit(pairs, directory="x"),
            "model: RNNSearch: dropout: expected a valid number, got False",
        ),
        (lambda t, pairs: t.fit(pairs, callbacks=["x"]), "callbacks: expected Keras callbacks, got 'x'"),
        (
            lambda t, pairs: t.fit(pairs, accumulate=2, optimizer=keras.optimizers.SGD()),
            "accumulate: expected 1, as the optimizer has it, got 2",
        ),
        (
            lambda t, pairs: t.fit(pairs, optimizer=Adam(accumulate=2)),
            "accumulate: expected 2, as the optimizer has it, got 1",
        ),
        (
            lambda t, pairs: t.fit(
                pairs, optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(use_ema=True))
            ),
            "optimizer: use_ema is not supported",
        ),
        (
            lambda t, pairs: t.fit(ParallelCorpus.from_ids([[5]], [[6]], pad_id=0, start_id=3, end_id=2)),
            r"train: expected sources with SpecialIds\(pad_id=0, start_id=2, end_id=3\), as in the",
        ),
        (
            lambda t, pairs: t.fit(ParallelCorpus.from_ids([[5]], [[999]], pad_id=0, start_id=2, end_id=3)),
            "train: expected target ids below 44, the vocabulary, got 999",
        ),
    ],
)
def test_misuse_is_named_in_one_line(new_translator, train_pairs, call, said):
    with pytest.raises(KerasZooError, match=said) as error:
        call(new_translator(), train_pairs[:9])
    assert "\n" not in str(error.value)


def test_a_tagger_names_misuse_too(new_tagger):
    with pytest.raises(KerasZooError, match="train: expected TaggedSentence objects, got .'Ada'.* as item 0"):
        new_tagger().fit([["Ada"]], [["B-PER"]])


def test_tensorboard_is_asked_for_before_the_training(new_translator, train_pairs, monkeypatch):
    with pytest.raises(
        RecipeError, match="fit: tensorboard needs a directory: its logs are written to DIREC"
    ):
        new_translator().fit(train_pairs[:9], tensorboard=True)
    monkeypatch.setattr(training.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecipeError, match=r"tensorboard is needed: pip install 'keraszoo\[tensorboard\]'"):
        new_translator().fit(train_pairs[:9], tensorboard=True)


def test_a_folder_of_checkpoints_is_deleted_when_the_run_is_over(tmp_path):
    class Stop(Exception):
        pass

    plan = FitPlan(TrainingSection(), checkpoints=tmp_path / "run")
    with pytest.raises(Stop), training.opened(plan) as checkpoints:
        checkpoints.save(3, {}, {"over": False})
        raise Stop
    with training.opened(plan) as checkpoints:
        assert checkpoints.newest().step == 3
    assert os.listdir(tmp_path) == []
    with training.opened(FitPlan(TrainingSection())) as checkpoints:
        assert checkpoints is None


def test_open_checkpoints_stay_open(tmp_path):
    with Checkpoints(tmp_path / "run").open() as given:
        with training.opened(FitPlan(TrainingSection(), checkpoints=given)) as checkpoints:
            assert checkpoints is given
        given.save(4, {}, {"over": False})
    assert os.listdir(tmp_path / "run") == ["step-00000004"]


def test_a_full_disk_does_not_end_the_training(new_translator, monkeypatch):
    def fail(cause):
        def save(self, directory):
            raise PresetError("model: cannot be written: No space left on device") from cause

        return save

    translator = new_translator()
    monkeypatch.setattr(Translator, "save_to_preset", fail(OSError()))
    with pytest.warns(UserWarning, match="the best model so far was not saved: .*; training goes on"):
        training.save_best(translator, "model", {"val_loss": 1.0, "loss": 2.0})
    assert translator.metrics["validation"] == {"val_loss": 1.0}
    monkeypatch.setattr(Translator, "save_to_preset", fail(None))
    with pytest.raises(PresetError):
        training.save_best(translator, "model", {})


def test_figures_that_are_not_finite_are_not_noted():
    task = SimpleNamespace(metrics={})
    training.note_validation(task, {"loss": 1.0, "val_loss": float("nan"), "val_f1": 50})
    assert task.metrics == {"validation": {"val_f1": 50.0}}


@pytest.mark.parametrize("name", ["x" * 243, "room"])
def test_a_model_that_could_not_be_saved_is_not_trained(new_translator, train_pairs, tmp_path, request, name):
    steps, translator = [], new_translator()
    if name == "room":
        request.getfixturevalue("full_disk")
    counter = keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: steps.append(1))
    with pytest.raises(DataError, match="cannot be written: File (name too long|too large)"):
        translator.fit(train_pairs, directory=tmp_path / name, epochs=1, callbacks=[counter])
    assert steps == [] and os.listdir(tmp_path) == []


def test_what_batches_derive_from_the_settings():
    for settings, replicas, shapes in (
        ({}, 1, None),
        ({"shapes": 2, "accumulate": 3}, 3, 2),
        ({"jit_compile": True}, 1, 16),
        ({"jit_compile": True, "shapes": 3}, 1, 3),
    ):
        options = FitPlan(TrainingSection(**settings)).batch_options
        assert options == {"seed": 1, "replicas": replicas, "shapes": shapes}


def test_settings_that_decide_nothing_may_change():
    other = TrainingSection(checkpoint_minutes=1, checkpoint_steps=5, tensorboard=True, epochs=99, steps=3)
    assert TrainingSection().deciding() == other.deciding() != TrainingSection(accumulate=2).deciding()


def test_a_run_can_be_made_deterministic_and_leaves_the_process_as_it_was(
    new_translator, train_pairs, monkeypatch
):
    from tensorflow.python.framework import config

    seen = []
    note = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: seen.append(config.is_op_determinism_enabled())
    )
    for asked in (True, False):
        new_translator().fit(train_pairs[:9], deterministic=asked, steps=1, callbacks=note, **SHORT)
        assert not config.is_op_determinism_enabled()
    assert seen == [True, False]
    monkeypatch.setattr(training.keras.backend, "backend", lambda: "jax")
    with pytest.raises(RecipeError, match="deterministic needs TensorFlow; JAX has XLA_FLAGS="):
        new_translator().fit(train_pairs[:9], deterministic=True)


def stop_at_once(monkeypatch):
    """Lets a training save one checkpoint and end; returns the error that ends it."""

    class Stop(Exception):
        pass

    def stop(*arguments, checkpoints, **options):
        checkpoints.save(1, {}, {"over": False})
        raise Stop

    monkeypatch.setattr(training, "train", stop)
    return Stop


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accumulate": 2}, "training.accumulate was 1, is 2; .*batches.rows_multiple was 1, is 2"),
        ({"shapes": 2}, "batches.shapes was None, is 2"),
        ({"optimizer": keras.optimizers.SGD}, "optimizer.module was 'keraszoo.*, is 'keras.optimizers'"),
        ({"label_smoothing": 0.0}, "training.label_smoothing was 0.1, is 0.0"),
    ],
)
def test_a_run_does_not_resume_with_other_batches_or_another_optimizer(
    new_translator, train_pairs, tmp_path, monkeypatch, change, said
):
    translator = new_translator()
    pairs = ParallelCorpus.from_pairs(train_pairs[:9], translator.source_subwords, translator.target_subwords)
    Stop = stop_at_once(monkeypatch)
    for _ in range(2):
        with pytest.raises(Stop):
            translator.fit(pairs, checkpoints=tmp_path / "run", **SHORT)
    change = {name: value() if callable(value) else value for name, value in change.items()}
    translator.metrics = {"steps": 9}  # of the weights that it still has
    with pytest.raises(RecipeError, match=said):
        translator.fit(pairs, checkpoints=tmp_path / "run", **SHORT, **change)
    assert translator.metrics == {"steps": 9}


WARMED_UP = {"schedule": "inverse_sqrt", "warmup_steps": 9}


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        ({"schedule": "constant"}, None),
        (WARMED_UP, None),
        ({"schedule": "inverse_sqrt"}, "optimizer.config.learning_rate.config.warmup_steps was 2, is 3"),
        ({"schedule": "cosine", "warmup_steps": 1}, "learning_rate.config.decay_steps was 19, is 29"),
    ],
)
def test_a_run_gets_longer_if_the_learning_rate_does_not_depend_on_the_length(
    new_translator, train_pairs, tmp_path, monkeypatch, optimizer, said
):
    Stop = stop_at_once(monkeypatch)
    settings = {"checkpoints": tmp_path / "run", "batch_tokens": 512, "optimizer": optimizer}
    for epochs in (20, 30):
        wanted = Stop if epochs == 20 or said is None else RecipeError
        with pytest.raises(wanted, match=None if wanted is Stop else said):
            new_translator().fit(train_pairs[:9], epochs=epochs, **settings)


def test_other_held_out_pairs_are_another_run(new_translator, train_pairs, tmp_path, monkeypatch):
    Stop = stop_at_once(monkeypatch)
    settings = {**SHORT, "checkpoints": tmp_path / "run"}
    for _ in range(2):
        with pytest.raises(Stop):
            new_translator().fit(train_pairs[:9], [("six", "six"), ("one", "two")], **settings)
    for other in (None, [("six", "six"), ("onetwo", "")], [("six", "six"), ("one", "six")]):
        with pytest.raises(RecipeError, match="data.validation was"):
            new_translator().fit(train_pairs[:9], other, **settings)


def test_a_run_resumes_with_an_equal_optimizer(new_translator, train_pairs, tmp_path, monkeypatch):
    Stop = stop_at_once(monkeypatch)
    for _ in range(2):  # Keras names the second one adam_1
        rate = keras.optimizers.schedules.CosineDecay(0.1, 9)
        with pytest.raises(Stop):
            new_translator().fit(
                train_pairs[:9], checkpoints=tmp_path / "run", optimizer=keras.optimizers.Adam(rate), **SHORT
            )


def test_a_strange_file_in_the_directory_does_not_end_the_training(new_translator, tmp_path):
    translator = new_translator()
    training.save_best(translator, tmp_path / "model", {})
    (tmp_path / "model" / ".DS_Store").write_bytes(b"")
    with pytest.warns(UserWarning, match="the best model so far was not saved: .*'.DS_Store'"):
        training.save_best(translator, tmp_path / "model", {})


def test_a_run_does_not_resume_with_another_model(train_pairs, tmp_path, monkeypatch):
    def make(dropout):
        return Translator(RNNSearch(60, embedding_dim=4, units=4, dropout=dropout), both)

    Stop = stop_at_once(monkeypatch)
    both = Subwords.train([text for pair in train_pairs for text in pair], 60)
    with pytest.raises(Stop):
        make(0.0).fit(train_pairs[:9], checkpoints=tmp_path / "run", **SHORT)
    with pytest.raises(RecipeError, match="model.dropout was 0.0, is 0.5"):
        make(0.5).fit(train_pairs[:9], checkpoints=tmp_path / "run", **SHORT)


def test_training_further_forgets_the_figures_and_the_recipe_of_the_old_weights(
    new_translator, train_pairs, tmp_path
):
    translator = new_translator()
    translator.metrics = {"test": {"bleu": {"name": "BLEU", "score": 45.0, "signature": "s"}}}
    translator.recipe = {"output": "runs/old"}
    translator.save_to_preset(tmp_path / "old")
    translator = Translator.from_preset(tmp_path / "old")
    with pytest.raises(KerasZooError):
        translator.fit([])
    assert list(translator.metrics) == ["test"] and translator.recipe == {"output": "runs/old"}
    translator.fit(train_pairs[:60], steps=5, steps_per_evaluation=2, **{**SHORT, "epochs": 9})
    assert list(translator.metrics) == ["training"] and translator.recipe is None
    figures = translator.metrics["training"]
    assert (figures["steps"], figures["steps_per_evaluation"], len(figures["loss"])) == (5, 2, 3)

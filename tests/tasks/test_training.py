"""Training of a task: what `fit` accepts and refuses, checkpoints, and a full disk."""

import os

import keras
import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import DataError, KerasZooError, PresetError, RecipeError
from keraszoo.models import RNNSearch
from keraszoo.tasks import training
from keraszoo.tasks.training import FitPlan
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.adam import Adam
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.translation.recipe import TrainingSection

pytestmark = pytest.mark.usefixtures("eagerly")
SHORT = {"epochs": 1, "batch_tokens": 512, "verbose": 0}


def test_callbacks_verbose_and_an_optimizer_are_those_of_keras(
    new_translator, train_pairs, test_pairs, tmp_path, capsys
):
    calls, seen = [], {}

    def add_figures(epoch, logs):
        logs |= {"single": np.float32(0.5), "none": float("nan")}
        seen.update(logs)

    hooks = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: calls.append("begin"),
        on_train_batch_end=lambda batch, logs: calls.append(batch),
        on_epoch_end=add_figures,
        on_train_end=lambda logs: calls.append("end"),
    )
    translator, optimizer = new_translator(), keras.optimizers.SGD(0.0)
    before = translator.model.get_weights()
    history = translator.fit(
        train_pairs[:60],
        test_pairs[:4],
        tmp_path / "model",
        epochs=9,
        batch_tokens=512,
        callbacks=[hooks, keras.callbacks.EarlyStopping("val_loss", min_delta=9, patience=1)],
        verbose=0,
        optimizer=optimizer,
        monitor="val_loss",
    )
    assert capsys.readouterr().out == ""
    half = history.steps // 2
    assert calls == ["begin", *range(half), *range(half), "end"]  # stopped after two periods
    assert not optimizer.built  # a copy of it made the updates
    assert {"loss", "val_loss"} <= set(seen)
    # the given optimizer has a rate of 0
    np.testing.assert_equal(translator.model.get_weights(), before)
    training = Translator.from_preset(tmp_path / "model").metrics["training"]
    assert (training["single"], training["none"]) == ([0.5, 0.5], [None, None])


@pytest.fixture(scope="module")
def translator(both_subwords):
    """An untrained translator; tests leave it as it is."""
    sizes = [side.vocabulary_size for side in both_subwords]
    return Translator(RNNSearch(*sizes, embedding_dim=4, units=4), *both_subwords)


def corpus_of(source, target, start_id=2, end_id=3):
    return ParallelCorpus.from_ids([source], [target], pad_id=0, start_id=start_id, end_id=end_id)


PAIRS = [("one", "eins"), ("two", "zwei")]
WITH_EMA = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(use_ema=True))


@pytest.mark.parametrize(
    ("train", "settings", "said"),
    [
        ([], {}, "an empty corpus: expected at least one pair"),
        ([("", "")], {}, "no pair is left of 1: 1 blank"),
        (["ab", "cd"], {}, r"expected pairs .*list\(zip\(sources, targets\)\)"),
        ([{"en": "a", "de": "b"}], {}, "train: expected pairs .* got {'en': 'a'"),
        ([1, 2], {}, "train: expected pairs .* got 1 as item 0"),
        (corpus_of([5], [6], 3, 2), {}, r"train: expected sources with SpecialIds\(pad_id=0, start_id=2,"),
        (corpus_of([5], [999]), {}, "train: expected target ids below 44, the vocabulary, got 999"),
        (PAIRS, {"validation": ["a b"]}, "validation: expected pairs"),
        (PAIRS, {"validation": []}, "validation: expected at least one pair, got none"),
        (PAIRS, {"validation": [("", " ")]}, "validation: no pair is left of 1: 1 blank"),
        ([("one two three four", "eins")], {"batch_tokens": 4}, "a budget of 4 tokens"),
        (PAIRS, {"validation_data": PAIRS}, "pass the held-out data as `validation`"),
        (PAIRS, {"batch_size": 32}, "`batch_tokens`"),
        (PAIRS, {"epoch": 3}, "fit: epoch: unknown key, did you mean epochs?"),
        (PAIRS, {"precision": "mixed_bfloat16"}, "the model has float32, got mixed_bfloat16"),
        (PAIRS, {"optimizer": {"schedule": "transformer"}}, "d_model, which RNNSearch lacks"),
        (PAIRS, {"patience": 3}, "fit: patience has no effect without validation data"),
        (PAIRS, {"monitor": "val_loss"}, "fit: monitor has no effect without validation data"),
        (PAIRS, {"directory": "x", "checkpoints": "./x"}, "checkpoints: expected a folder outside of dir"),
        (PAIRS, {"directory": "x", "checkpoints": "x/c"}, "checkpoints: expected a folder outside of dir"),
        (PAIRS, {"callbacks": ["x"]}, "callbacks: expected Keras callbacks, got 'x'"),
        (PAIRS, {"tensorboard": True}, "fit: tensorboard needs a directory: its logs are written to DIREC"),
        (PAIRS, {"accumulate": 2, "optimizer": keras.optimizers.SGD()}, "expected 1, as the optimizer has"),
        (PAIRS, {"optimizer": Adam(accumulate=2)}, "accumulate: expected 2, as the optimizer has it, got 1"),
        (PAIRS, {"optimizer": WITH_EMA}, "optimizer: use_ema is not supported"),
    ],
)
def test_misuse_of_fit_raises_errors_of_one_line(translator, train, settings, said):
    with pytest.raises(KerasZooError, match=said) as error:
        translator.fit(train, **settings)
    assert "\n" not in str(error.value)


def test_missing_packages_and_models_that_cannot_be_saved_are_named_before_the_training(
    translator, both_subwords, monkeypatch
):
    model = RNNSearch(40, 44, embedding_dim=4, units=4, dropout=False)
    with pytest.raises(KerasZooError, match="model: RNNSearch: dropout: expected a valid number, got False"):
        Translator(model, *both_subwords).fit(PAIRS, directory="x")
    monkeypatch.setattr(training.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecipeError, match=r"tensorboard is needed: pip install 'keraszoo\[tensorboard\]'"):
        translator.fit(PAIRS, tensorboard=True)
    monkeypatch.setattr(training.keras.backend, "backend", lambda: "jax")
    with pytest.raises(RecipeError, match="deterministic needs TensorFlow; JAX has XLA_FLAGS="):
        translator.fit(PAIRS, deterministic=True)


def test_a_folder_of_checkpoints_is_deleted_when_the_run_is_over(new_translator, tmp_path):
    new_translator().fit(PAIRS, checkpoints=tmp_path / "run", **SHORT)
    assert os.listdir(tmp_path) == []
    with Checkpoints(tmp_path / "run").open() as given:
        new_translator().fit(PAIRS, checkpoints=given, **SHORT)
        given.save(4, {}, {"over": False})  # it stays open
    assert sorted(os.listdir(tmp_path / "run")) == ["step-00000001", "step-00000004"]


def test_a_best_model_that_cannot_be_saved_does_not_end_the_training(new_translator, tmp_path, monkeypatch):
    translator = new_translator()
    figures = {"val_loss": 1.0, "loss": 2.0, "val_bleu": float("nan")}
    training.save_best(translator, tmp_path / "model", figures)
    assert translator.metrics["validation"] == {"val_loss": 1.0}
    (tmp_path / "model" / ".DS_Store").write_bytes(b"")
    with pytest.warns(UserWarning, match="the best model so far was not saved: .*'.DS_Store'"):
        training.save_best(translator, tmp_path / "model", {})

    def save(self, directory):
        raise PresetError("model: cannot be written: No space left on device") from cause

    monkeypatch.setattr(Translator, "save_to_preset", save)
    cause = OSError()
    with pytest.warns(UserWarning, match="the best model so far was not saved: .*; training goes on"):
        training.save_best(translator, "model", figures)
    cause = None
    with pytest.raises(PresetError):
        training.save_best(translator, "model", {})


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


def test_a_run_can_be_made_deterministic_and_leaves_the_process_as_it_was(new_translator):
    from tensorflow.python.framework import config

    seen, translator = [], new_translator()
    note = keras.callbacks.LambdaCallback(
        on_train_begin=lambda logs: seen.append(config.is_op_determinism_enabled())
    )
    for asked in (True, False):
        translator.fit(PAIRS, deterministic=asked, steps=1, callbacks=note, **SHORT)
        assert not config.is_op_determinism_enabled()
    assert seen == [True, False]


@pytest.fixture
def Stop(monkeypatch):
    """Lets a training save one checkpoint and end; the error that ends it."""

    class Stop(Exception):
        pass

    def stop(*arguments, checkpoints, **options):
        checkpoints.save(1, {}, {"over": False})
        raise Stop

    monkeypatch.setattr(training, "train", stop)
    return Stop


def test_advice_for_a_run_of_few_updates_comes_before_the_training(translator, tmp_path, Stop, capsys):
    with pytest.raises(Stop):
        translator.fit(PAIRS, checkpoints=tmp_path / "run", **SHORT)
    assert "this run makes only 1 update(s)" in capsys.readouterr().err


HELD_OUT = [("six", "six"), ("one", "two")]


def test_a_run_does_not_resume_with_other_settings_pairs_or_models(new_translator, tmp_path, Stop):
    translator = new_translator()
    corpus = ParallelCorpus.from_pairs(PAIRS, translator.source_subwords, translator.target_subwords)
    settings = {"train": corpus, "validation": HELD_OUT, "checkpoints": tmp_path / "run", **SHORT}
    for _ in range(2):
        with pytest.raises(Stop):
            translator.fit(**settings)
    translator.metrics = {"steps": 9}  # of the weights that it still has
    for change, said in (
        ({"accumulate": 2}, "training.accumulate was 1, is 2; .*batches.rows_multiple was 1, is 2"),
        ({"shapes": 2}, "batches.shapes was None, is 2"),
        ({"optimizer": keras.optimizers.SGD()}, "optimizer.module was 'keraszoo.*, is 'keras.optimizers'"),
        ({"label_smoothing": 0.0}, "training.label_smoothing was 0.1, is 0.0"),
        ({"train": PAIRS[::-1]}, "data.train was"),
        ({"validation": None}, "data.validation was"),
        ({"validation": [("six", "six"), ("onetwo", "")]}, "data.validation was"),
        ({"validation": [("six", "six"), ("one", "six")]}, "data.validation was"),
    ):
        with pytest.raises(RecipeError, match=said):
            translator.fit(**{**settings, **change})
    assert translator.metrics == {"steps": 9}
    sizes = translator.model.get_config() | {"dropout": 0.5}
    other = Translator(RNNSearch.from_config(sizes), translator.source_subwords, translator.target_subwords)
    with pytest.raises(RecipeError, match="model.dropout was 0.0, is 0.5"):
        other.fit(**settings)


@pytest.mark.parametrize(
    ("optimizer", "said"),
    [
        ({"schedule": "constant"}, None),
        ({"schedule": "inverse_sqrt", "warmup_steps": 9}, None),
        ({"schedule": "inverse_sqrt"}, "optimizer.config.learning_rate.config.warmup_steps was 2, is 3"),
        ({"schedule": "cosine", "warmup_steps": 1}, "learning_rate.config.decay_steps was 19, is 29"),
    ],
)
def test_a_run_gets_longer_if_the_learning_rate_does_not_depend_on_the_length(
    translator, tmp_path, Stop, optimizer, said
):
    settings = {"checkpoints": tmp_path / "run", "batch_tokens": 512, "optimizer": optimizer}
    for epochs, wanted in ((20, Stop), (30, RecipeError if said else Stop)):
        with pytest.raises(wanted, match=said if wanted is RecipeError else None):
            translator.fit(PAIRS, epochs=epochs, **settings)


def test_a_run_resumes_with_an_equal_optimizer(translator, tmp_path, Stop):
    for _ in range(2):  # Keras names the second one adam_1
        optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.1, 9))
        with pytest.raises(Stop):
            translator.fit(PAIRS, checkpoints=tmp_path / "run", optimizer=optimizer, **SHORT)


def test_training_further_forgets_the_figures_and_the_recipe_of_the_old_weights(new_translator, train_pairs):
    translator = new_translator()
    translator.metrics = {"test": {"bleu": {"name": "BLEU", "score": 45.0, "signature": "s"}}}
    translator.recipe = {"output": "runs/old"}
    with pytest.raises(KerasZooError):
        translator.fit([])
    assert list(translator.metrics) == ["test"] and translator.recipe == {"output": "runs/old"}
    settings = {**SHORT, "epochs": 9, "batch_tokens": 128}
    translator.fit(train_pairs[:9], steps=3, steps_per_evaluation=2, **settings)
    assert list(translator.metrics) == ["training"] and translator.recipe is None
    figures = translator.metrics["training"]
    assert (figures["steps"], figures["steps_per_evaluation"], len(figures["loss"])) == (3, 2, 2)

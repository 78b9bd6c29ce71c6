"""Training: what is kept, when it stops, and what is refused."""

import json

import keras
import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import DataError, KerasZooError, RecipeError, ScoreError
from keraszoo.saving import model_directory
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.translation.recipe import TrainingSection
from keraszoo.translation.training import digests, held_out_figures, training_corpus
from keraszoo.translation.warm_up import warm_up_texts

pytestmark = pytest.mark.usefixtures("eagerly")

FAST = {"schedule": "constant", "learning_rate": 0.01, "global_clipnorm": 1.0}
SHORT = {"batch_tokens": 512, "label_smoothing": 0.0, "optimizer": FAST}


@pytest.fixture
def scripted(monkeypatch):
    """Lets the BLEU of held-out pairs follow a script; gives the weights of each evaluation."""

    def script(*bleus):
        weights = []

        def figures(model):
            weights.append(model.get_weights())
            return {"val_bleu": float(bleus[len(weights) - 1]), "val_loss": 1.0}

        made = "keraszoo.translation.translator.held_out_figures"
        monkeypatch.setattr(made, lambda *arguments: figures)
        return weights

    return script


def same(weights, others):
    return all(map(np.array_equal, weights, others))


@pytest.mark.parametrize(
    "other", [[("a", "bc"), ("", "d")], [("a\tb", "c"), ("d", "")], [("ab", "c"), ("d", "")]]
)
def test_the_digest_of_a_run_separates_the_fields_of_held_out_pairs(new_translator, train_pairs, other):
    translator = new_translator()
    corpus = training_corpus(translator, train_pairs[:9])
    one, same, another = (
        digests(translator, corpus, pairs)["validation"]
        for pairs in ([("a", "b"), ("c", "d")], [["a", "b"], ["c", "d"]], other)
    )
    assert one == same != another


def test_bleu_goes_up_and_is_what_the_directory_says(trained_directory, trained, test_pairs):
    metrics = json.loads((trained_directory / "metrics.json").read_text())
    bleus = metrics["training"]["val_bleu"]
    assert bleus[0] < 30 and metrics["validation"]["val_bleu"] == max(bleus) > 80
    sources, references = map(list, zip(*test_pairs, strict=True))
    assert trained.evaluate(sources, references).bleu.score == pytest.approx(max(bleus), abs=0.01)
    assert metrics["training"]["target_tokens"] > 0
    assert metrics["training"]["loss"][-1] < metrics["training"]["loss"][0] / 3


def test_the_best_weights_are_kept_in_memory_and_on_disk(
    new_translator, train_pairs, test_pairs, scripted, tmp_path
):
    weights = scripted(1, 3, 2)
    translator = new_translator()
    history = translator.fit(train_pairs[:90], test_pairs[:4], tmp_path / "m", epochs=3, **SHORT)
    assert history.history["val_bleu"] == [1, 3, 2]
    assert same(translator.model.get_weights(), weights[1])
    assert not same(weights[1], weights[2])
    saved = Translator.from_preset(tmp_path / "m")
    assert same(saved.model.get_weights(), weights[1])
    assert saved.metrics["validation"] == pytest.approx({**saved.metrics["validation"], "val_bleu": 3})


def test_patience_ends_training(new_translator, train_pairs, test_pairs, scripted):
    scripted(5, 4, 3, 9)
    history = new_translator().fit(train_pairs[:60], test_pairs[:4], epochs=9, patience=2, **SHORT)
    assert history.history["val_bleu"] == [5, 4, 3]


@pytest.mark.parametrize("mean_is_better", [True, False])
def test_the_mean_of_the_last_is_taken_where_it_is_better(
    new_translator, train_pairs, test_pairs, scripted, mean_is_better
):
    weights = scripted(1, 3, 2, 4 if mean_is_better else 2)
    translator = new_translator()
    translator.fit(train_pairs[:60], test_pairs[:4], epochs=3, average_last=2, **SHORT)
    wanted = [np.mean([a, b], axis=0) for a, b in zip(weights[1], weights[2], strict=True)]
    if not mean_is_better:
        wanted = weights[1]
    for ours, theirs in zip(translator.model.get_weights(), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_by_loss_alone_nothing_is_translated(new_translator, train_pairs, test_pairs, monkeypatch):
    translator = new_translator()
    monkeypatch.setattr(translator, "translate", None)
    settings = {**SHORT, "epochs": 3, "monitor": "val_loss", "average_last": 2}
    history = translator.fit(train_pairs[:90], test_pairs[:4], **settings).history
    assert "val_bleu" not in history and len(history["val_loss"]) == 3
    checked = TrainingSection.checked(settings)
    kept = held_out_figures(translator, test_pairs[:4], checked)(translator.model)["val_loss"]
    assert kept <= min(history["val_loss"]) + 1e-6


def test_steps_end_training_in_the_middle_of_an_epoch(new_translator, train_pairs):
    translator = new_translator()
    corpus = ParallelCorpus.from_pairs(
        train_pairs[:200], translator.source_subwords, translator.target_subwords
    )
    translator.fit(corpus, epochs=5, steps=3, **{**SHORT, "batch_tokens": 128})
    assert translator.metrics["training"]["steps"] == 3
    assert int(translator.model.optimizer.iterations) == 3


def test_evaluation_every_so_many_steps(new_translator, train_pairs, test_pairs, scripted):
    scripted(*range(9))
    translator = new_translator()
    settings = {**SHORT, "batch_tokens": 128, "steps_per_evaluation": 2}
    history = translator.fit(train_pairs[:200], test_pairs[:4], epochs=9, steps=5, **settings)
    assert len(history.history["val_bleu"]) == 3 and int(translator.model.optimizer.iterations) == 5


def test_the_same_seed_makes_the_same_model(new_translator, train_pairs):
    results = []
    for _ in range(2):
        translator = new_translator()
        translator.fit(iter(train_pairs[:60]), epochs=1, seed=5, **SHORT)
        results.append(translator.model.get_weights())
    assert same(*results)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epochs": 0}, "fit: epochs"),
        ({"epochs": "3"}, "fit: epochs"),
        ({"optimizer": {"schedule": "linear"}}, "fit: optimizer.schedule"),
        ({"optimizer": {"schedule": "transformer"}}, "transformer needs a d_model, which RNNSearch lacks"),
        ({"precision": "mixed_bfloat16"}, "the model has float32, got mixed_bfloat16"),
    ],
)
def test_settings_that_are_none(new_translator, train_pairs, settings, said):
    with pytest.raises(RecipeError) as error:
        new_translator().fit(train_pairs[:9], **settings)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("train", "validation"), [([], None), ([("", "")], None), (None, []), (None, [("", " ")])]
)
def test_nothing_to_learn_from_or_to_be_judged_by(new_translator, train_pairs, train, validation):
    with pytest.raises(DataError):
        new_translator().fit(train_pairs[:20] if train is None else train, validation, epochs=1)


def test_a_pair_longer_than_a_batch(new_translator, train_pairs):
    with pytest.raises(DataError, match="a budget of 4 tokens"):
        new_translator().fit(train_pairs[:20], batch_tokens=4)


def test_a_training_that_diverges_keeps_the_last_good_model(
    new_translator, train_pairs, test_pairs, tmp_path
):
    translator = new_translator()
    translator.fit(train_pairs[:60], test_pairs[:4], tmp_path / "m", epochs=1, **SHORT)
    good = model_directory.read_directory(tmp_path / "m").manifest
    rate = {"schedule": "constant", "learning_rate": 1e30}
    with pytest.raises(KerasZooError, match="diverged"):
        translator.fit(train_pairs[:60], test_pairs[:4], tmp_path / "m", batch_tokens=512, optimizer=rate)
    assert model_directory.read_directory(tmp_path / "m").manifest == good


def test_held_out_pairs_without_words_are_named(new_translator, train_pairs):
    with pytest.raises(DataError, match="validation: no pair is left of 1: 1 blank"):
        new_translator().fit(train_pairs, validation=[("", "")], epochs=1)


def test_held_out_pairs_that_are_too_long_count_for_bleu_alone(
    new_translator, test_pairs, capsys, monkeypatch
):
    translator, long, translated = new_translator(), " ".join(["one"] * 999), []
    monkeypatch.setattr(translator, "translate", lambda texts: translated.append(texts) or texts)
    with_long, without = (
        held_out_figures(translator, pairs, TrainingSection())(translator.model)
        for pairs in ([*test_pairs[:4], (long, "eins")], test_pairs[:4])
    )
    assert [len(texts) for texts in translated] == [5, 4]
    assert with_long["val_loss"] == without["val_loss"]
    limit = translator.max_source_tokens
    said = f"validation: 1 pairs of more than {limit:,} subwords count for BLEU, not for val_loss"
    assert said in capsys.readouterr().err


def test_settings_reach_the_loss_and_the_batches(new_translator, train_pairs, monkeypatch):
    given = {}
    note = lambda task, plan, batches, evaluate, **options: given.update(options, batches=batches)  # noqa: E731
    monkeypatch.setattr("keraszoo.translation.translator.fit_task", note)
    settings = {"label_smoothing": 0.2, "r_drop": 0.7, "shapes": 2, "seed": 5, "accumulate": 2}
    new_translator().fit(train_pairs[:9], **settings)
    batches, loss = given["batches"], given["loss"]
    assert (loss.label_smoothing, loss.r_drop) == (0.2, 0.7)
    assert (batches.shapes, batches.seed, batches.replicas, batches.copies) == (2, 5, 2, 2)
    twice = keras.tree.flatten(batches.batch(0, 0))
    batches.copies = 1
    for two, one in zip(twice, keras.tree.flatten(batches.batch(0, 0)), strict=True):
        share = 2 if one.dtype == "float32" else 1  # the weights
        np.testing.assert_array_equal(share * two, np.repeat(one, 2, axis=0))


def test_a_log_for_tensorboard(new_translator, train_pairs, tmp_path):
    pytest.importorskip("tensorboard")
    new_translator().fit(train_pairs[:9], directory=tmp_path / "m", epochs=1, tensorboard=True, **SHORT)
    assert list((tmp_path / "m.logs").rglob("events.out.tfevents.*"))


def test_warm_up(new_translator, monkeypatch):
    translator, said, told = new_translator(), [], []
    monkeypatch.setattr(translator, "translate", lambda texts, **search: said.append((texts, search)))
    monkeypatch.setattr(translator.compiled_search, "warm_up", told.append)
    translator.warm_up(beam_width=2)
    assert [options.beam_width for options in told] == [2]
    assert said == [([text], {"beam_width": 2}) for text in warm_up_texts(translator)]


def test_chinese_is_evaluated_by_its_own_tokens(new_translator, train_pairs):
    """A right translation has BLEU 100 at each evaluation, not 0, and a missing package is named at once."""
    translator = new_translator()
    references = ["我们昨天在公园里看到了一只很大的狗。", "他不喜欢喝咖啡，但是喜欢喝茶。"]
    translator.translate = lambda texts, *options: references
    pairs = list(zip(["eins", "zwei"], references, strict=True))
    figures = held_out_figures(translator, pairs, TrainingSection())(translator.model)
    assert figures["val_bleu"] == pytest.approx(100)
    with pytest.warns(UserWarning, match="13a splits words at blanks"):
        by_blanks = held_out_figures(translator, pairs, TrainingSection(bleu_tokenizer="13a"))
    assert by_blanks(translator.model)["val_bleu"] == 0
    scores = translator.evaluate(["eins", "zwei"], references, tokenizer="char")
    assert scores.bleu.score == pytest.approx(100) and "tok:char" in scores.bleu.signature
    with pytest.raises(ScoreError, match="tokenizer: expected one of"):
        translator.evaluate(["eins", "zwei"], references, tokenizer="moses")

"""Training of taggers: what is kept, what is stopped, what is refused."""

import gc
import weakref

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import DataError, PresetError, RecipeError
from keraszoo.tagging.recipe import TaggerTrainingSection
from keraszoo.tagging.training import digests, held_out_figures
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.tag_batches import TagBatches, TaggedRows

pytestmark = pytest.mark.usefixtures("eagerly")

FAST = {"batch_tokens": 512, "optimizer": {"learning_rate": 0.02}}


@pytest.mark.slow
def test_the_figures_of_held_out_sentences(new_tagger, tagged_sentences, other_sentences, tmp_path):
    tagger = new_tagger(crf=False, characters=None, casing_dim=0)
    history = tagger.fit(tagged_sentences[:60], other_sentences[:9], tmp_path / "model", epochs=3, **FAST)
    assert {"loss", "val_loss", "val_f1", "val_precision", "val_recall"} <= set(history.history)
    best = max(history.history["val_f1"])
    assert tagger.metrics["validation"]["val_f1"] == pytest.approx(best)
    assert tagger.evaluate(other_sentences[:9]).f1.score == pytest.approx(best)
    assert EntityTagger.from_preset(tmp_path / "model").metrics == tagger.metrics
    assert tagger.metrics["training"]["tokens"] == 3 * sum(len(s.tokens) for s in tagged_sentences[:60])
    # the callback's figures, and the loss of all tokens at once
    rows = TaggedRows(other_sentences[:9], tagger.vocabulary, tagger.model.features)
    longest = int(rows.lengths.max())
    parts, whole = TagBatches(rows, longest, shuffle=False), TagBatches(rows, 4096, shuffle=False)
    assert len(parts) > 1 == len(whole)
    figures, figures_of_whole = (
        held_out_figures(tagger, other_sentences[:9], TaggerTrainingSection(batch_tokens=tokens))(
            tagger.model
        )
        for tokens in (longest, 4096)
    )
    assert figures["val_f1"] == pytest.approx(best)
    features, tags, weight = whole.batch(0, 0)
    _, probabilities, _ = tagger.model.tag(features)
    chosen = np.take_along_axis(np.asarray(probabilities), tags[..., None], axis=-1)[..., 0]
    wanted = -np.log(chosen[weight > 0]).mean()
    assert figures["val_loss"] == pytest.approx(wanted, rel=1e-4)
    assert figures == pytest.approx(figures_of_whole, rel=1e-5)


def test_invalid_tags_count_as_wrong_in_training_too(tagged_sentences):
    tagger = EntityTagger.for_sentences(tagged_sentences, configuration="tiny", constrain="none")
    settings = TaggerTrainingSection(batch_tokens=256)
    figures = held_out_figures(tagger, tagged_sentences[:30], settings)(tagger.model)
    scores = tagger.evaluate(tagged_sentences[:30])  # of random weights
    assert scores.invalid > 0 and scores.f1.score != scores.f1_default.score
    assert figures["val_f1"] == pytest.approx(scores.f1.score)


def test_numbers_of_numpy_can_be_saved(tagged_sentences, tmp_path):
    options = {"dropout": np.float32(0.25), "character_dim": np.int64(5)}
    tagger = EntityTagger.for_sentences(tagged_sentences, configuration="tiny", **options)
    tagger.save_to_preset(tmp_path / "model")
    read = EntityTagger.from_preset(tmp_path / "model")
    assert (read.model.get_config()["dropout"], read.model.get_config()["character_dim"]) == (0.25, 5)
    vocabulary = TaggingVocabulary(["a"], "a", ["PER"], word_length=np.int64(20))
    assert type(vocabulary.word_length) is int


def test_frozen_vectors_stay_and_unused_ones_go(tagged_sentences):
    words = sorted({token.lower() for sentence in tagged_sentences for token in sentence.tokens})
    vectors = WordVectors([*words, "zebra"], np.random.default_rng(1).normal(size=(len(words) + 1, 4)))
    model = {"model": "recurrent", "configuration": "tiny", "units": 3}
    tagger = EntityTagger.for_sentences(tagged_sentences, vectors, **model)
    assert "zebra" not in tagger.vocabulary.words and tagger.model.get_config()["vector_width"] == 4
    assert (
        "zebra" in EntityTagger.for_sentences(tagged_sentences, vectors, keep="all", **model).vocabulary.words
    )
    before = tagger.model.words.vectors.embeddings.numpy().copy()
    tagger.fit(tagged_sentences[:20], epochs=1, **FAST)
    np.testing.assert_array_equal(tagger.model.words.vectors.embeddings.numpy(), before)
    np.testing.assert_allclose(before[2:], vectors.restrict(tagger.vocabulary.words).matrix, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epoch": 3}, "fit: epoch: unknown key, did you mean epochs?"),
        ({"monitor": "val_bleu"}, "monitor: expected 'val_f1' or 'val_loss'"),
        ({"precision": "mixed_bfloat16"}, "fit: precision: the model has float32, got mixed_bfloat16"),
        (
            {"optimizer": {"schedule": "transformer"}},
            "transformer needs a d_model, which AttentionTagger lacks",
        ),
    ],
)
def test_settings_that_are_wrong(new_tagger, tagged_sentences, settings, said):
    with pytest.raises(RecipeError, match=said):
        new_tagger().fit(tagged_sentences[:5], **settings)


def test_sentences_that_are_wrong(new_tagger, tagged_sentences, tmp_path):
    tagger = new_tagger()
    with pytest.raises(DataError, match="expected at least one sentence, got none"):
        tagger.fit([])
    with pytest.raises(DataError, match="validation: expected at least one sentence, got none"):
        tagger.fit(tagged_sentences[:5], [])
    with pytest.raises(DataError, match="expected tags of the labels LOC, PER, got 'B-DOG'"):
        tagger.fit([TaggedSentence(("a",), ("B-DOG",))])
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(PresetError, match="not overwritten"):
        tagger.fit(tagged_sentences[:5], directory=tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "recurent"}, "there is no 'recurent', did you mean recurrent?"),
        ({"configuration": "huge"}, "RecurrentTagger has the configurations"),
        ({"unit": 3}, "RecurrentTagger has no argument 'unit', did you mean units?"),
        ({"num_tags": 3}, "RecurrentTagger has no argument 'num_tags'"),
    ],
)
def test_taggers_that_cannot_be_made(tagged_sentences, options, said):
    with pytest.raises(RecipeError, match=said):
        EntityTagger.for_sentences(tagged_sentences, **options)


def test_other_words_vectors_or_tags_are_other_data(tagged_sentences):
    def digests_of(word="zebra", number=1.0, sentences=tagged_sentences[:5], held_out=None):
        vectors = WordVectors(["ada", word], np.full((2, 4), number))
        options = {"model": "recurrent", "configuration": "tiny", "units": 3, "keep": "all"}
        tagger = EntityTagger.for_sentences(tagged_sentences, vectors, **options)
        return digests(tagger, sentences, held_out)

    first = digests_of()
    assert first == digests_of()
    one, other = (TaggedSentence(tokens, ("O", "O")) for tokens in (("a", "bc"), ("ab", "c")))
    changes = [
        ({"word": "yak"}, {"vocabulary"}),
        ({"number": 2.0}, {"frozen_weights"}),
        ({"sentences": tagged_sentences[:4]}, {"train"}),
        ({"held_out": [one]}, {"validation"}),
    ]
    for change, differs in changes:
        now = digests_of(**change)
        assert {name for name in first if first[name] != now[name]} == differs
    assert digests_of(held_out=[one])["validation"] != digests_of(held_out=[other])["validation"]


def test_nothing_to_learn_from():
    with pytest.raises(DataError, match="expected sentences with entities to learn from, got none in 1"):
        EntityTagger.for_sentences([TaggedSentence(("a",), ("O",))])


@pytest.mark.parametrize(
    "options, moves", [({}, False), ({"train_vectors": True}, True), ({"configuration": "strong"}, False)]
)
def test_vectors_move_where_the_model_says_so(tagged_sentences, options, moves):
    words = sorted({token.lower() for sentence in tagged_sentences for token in sentence.tokens})
    vectors = WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 4)))
    model = {"model": "recurrent", "configuration": "tiny", "units": 3, **options}
    tagger = EntityTagger.for_sentences(tagged_sentences, vectors, **model)
    before = tagger.model.words.vectors.embeddings.numpy().copy()
    tagger.fit(tagged_sentences[:20], epochs=1, **FAST)
    assert np.any(before != tagger.model.words.vectors.embeddings.numpy()) == moves


@pytest.mark.parametrize(("monitor", "best"), [("val_f1", 1), ("val_loss", 0)])
def test_the_best_weights_are_kept(
    new_tagger, tagged_sentences, other_sentences, tmp_path, monkeypatch, monitor, best
):
    weights, script = [], {"val_f1": (1.0, 3.0, 2.0), "val_loss": (4.0, 6.0, 5.0)}

    def figures(model):
        weights.append(model.get_weights())
        return {name: values[len(weights) - 1] for name, values in script.items()}

    monkeypatch.setattr("keraszoo.tagging.entity_tagger.held_out_figures", lambda *arguments: figures)
    tagger = new_tagger(crf=False, characters=None, casing_dim=0)
    settings = {"epochs": 3, "monitor": monitor, **FAST}
    tagger.fit(tagged_sentences[:60], other_sentences[:9], tmp_path / "model", **settings)
    saved = EntityTagger.from_preset(tmp_path / "model")
    kept = tagger.model.get_weights(), saved.model.get_weights()
    for ours, theirs, wanted in zip(*kept, weights[best], strict=True):
        np.testing.assert_array_equal(ours, wanted)
        np.testing.assert_array_equal(theirs, wanted)
    assert not all(map(np.array_equal, weights[best], weights[2]))
    assert saved.metrics["validation"] == {name: values[best] for name, values in script.items()}


def test_a_trained_model_is_freed_with_its_tagger(new_tagger, tagged_sentences, other_sentences):
    tagger = new_tagger()
    tagger.fit(tagged_sentences[:20], other_sentences[:5], epochs=1, **FAST)
    model = weakref.ref(tagger.model)
    del tagger
    gc.collect()
    assert model() is None

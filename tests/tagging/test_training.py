"""Training of taggers: what is kept, what is stopped, what is refused."""

import gc
import weakref

import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.tagging.recipe import TaggerTrainingSection
from keraszoo.tagging.training import digests, held_out_figures
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.tag_batches import TagBatches, TaggedRows

pytestmark = pytest.mark.usefixtures("eagerly")

FAST = {"batch_tokens": 512, "optimizer": {"learning_rate": 0.02}}


def new_tiny(sentences, **options):
    options = {"model": "recurrent", "configuration": "tiny", **options}
    return EntityTagger.for_sentences(sentences, **options)


def test_the_figures_of_held_out_sentences(tagged_sentences, other_sentences):
    options = {"constrain": "none", "crf": False, "characters": None}
    tagger, some = new_tiny(tagged_sentences, **options), other_sentences[:9]
    rows = TaggedRows(some, tagger.vocabulary, tagger.model.features)
    longest = int(rows.lengths.max())
    parts, whole = TagBatches(rows, longest, shuffle=False), TagBatches(rows, 4096, shuffle=False)
    assert len(parts) > 1 == len(whole)
    figures, figures_of_whole = (
        held_out_figures(tagger, some, TaggerTrainingSection(batch_tokens=tokens))(tagger.model)
        for tokens in (longest, 4096)
    )
    assert figures == pytest.approx(figures_of_whole, rel=1e-5)
    features, tags, weight = whole.batch(0, 0)
    _, probabilities, _ = tagger.model.tag(features)
    chosen = np.take_along_axis(np.asarray(probabilities), tags[..., None], axis=-1)[..., 0]
    assert figures["val_loss"] == pytest.approx(-np.log(chosen[weight > 0]).mean(), rel=1e-4)
    scores = tagger.evaluate(some)  # of random weights
    assert scores.invalid > 0 and scores.f1.score != scores.f1_default.score  # invalid tags are wrong
    assert figures["val_f1"] == pytest.approx(scores.f1.score)
    assert {"val_precision", "val_recall"} < set(figures)


def test_numbers_of_numpy_can_be_saved(tagged_sentences, tmp_path):
    tagger = new_tiny(tagged_sentences, dropout=np.float32(0.25), character_dim=np.int64(5))
    tagger.save_to_preset(tmp_path / "model")
    read = EntityTagger.from_preset(tmp_path / "model")
    assert (read.model.get_config()["dropout"], read.model.get_config()["character_dim"]) == (0.25, 5)
    vocabulary = TaggingVocabulary(["a"], "a", ["PER"], word_length=np.int64(20))
    assert type(vocabulary.word_length) is int


@pytest.mark.parametrize("moves", [False, True])
def test_vectors_move_where_the_model_says_so(tagged_sentences, moves):
    vectors = WordVectors(["Paris", "knew"], np.eye(4)[:2])
    tagger = new_tiny(tagged_sentences, vectors=vectors, units=3, train_vectors=moves)
    before = tagger.model.words.vectors.embeddings.numpy().copy()
    tagger.fit(tagged_sentences[:20], epochs=1, **FAST)
    assert np.any(before != tagger.model.words.vectors.embeddings.numpy()) == moves


@pytest.mark.parametrize(
    ("train", "settings", "said"),
    [
        (..., {"epoch": 3}, "fit: epoch: unknown key, did you mean epochs?"),
        (..., {"monitor": "val_bleu"}, "monitor: expected 'val_f1' or 'val_loss'"),
        (..., {"precision": "mixed_bfloat16"}, "fit: precision: the model has float32, got mixed_bfloat16"),
        (..., {"optimizer": {"schedule": "transformer"}}, "a d_model, which AttentionTagger lacks"),
        (..., {"validation": []}, "validation: expected at least one sentence, got none"),
        ([], {}, "expected at least one sentence, got none"),
        ([["Ada"]], {"validation": [["B-PER"]]}, "train: expected TaggedSentence objects, got .* as item 0"),
        ([TaggedSentence(("a",), ("B-DOG",))], {}, "expected tags of the labels LOC, PER, got 'DOG'"),
    ],
)
def test_invalid_sentences_and_settings_raise_errors(new_tagger, tagged_sentences, train, settings, said):
    with pytest.raises(KerasZooError, match=said):
        new_tagger().fit(tagged_sentences[:5] if train is ... else train, **settings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "recurent"}, "there is no 'recurent', did you mean recurrent?"),
        ({"configuration": "huge"}, "RecurrentTagger has the configurations"),
        ({"unit": 3}, "RecurrentTagger has no argument 'unit', did you mean units?"),
        ({"num_tags": 3}, "RecurrentTagger has no argument 'num_tags'"),
        ({"sentences": [TaggedSentence(("a",), ("O",))]}, "expected sentences with entities to learn from"),
    ],
)
def test_invalid_taggers_raise_errors(tagged_sentences, options, said):
    with pytest.raises(KerasZooError, match=said):
        EntityTagger.for_sentences(**{"sentences": tagged_sentences, **options})


def test_other_words_vectors_or_tags_are_other_data(tagged_sentences):
    def digests_of(word="zebra", number=1.0, sentences=tagged_sentences[:5], held_out=None):
        vectors = WordVectors(["ada", word], np.full((2, 4), number))
        tagger = new_tiny(tagged_sentences, vectors=vectors, units=3, keep="all")
        return digests(tagger, sentences, held_out)

    first = digests_of()
    assert first == digests_of()
    one, other = (TaggedSentence(tokens, ("O", "O")) for tokens in (("a", "bc"), ("ab", "c")))
    for change, differs in (
        ({"word": "yak"}, "vocabulary"),
        ({"number": 2.0}, "frozen_weights"),
        ({"sentences": tagged_sentences[:4]}, "train"),
        ({"held_out": [one]}, "validation"),
    ):
        now = digests_of(**change)
        assert [name for name in first if first[name] != now[name]] == [differs]
    assert now["validation"] != digests_of(held_out=[other])["validation"]


def test_the_best_weights_are_kept(tagged_sentences, other_sentences, tmp_path, monkeypatch):
    weights, script = [], {"val_f1": (1.0, 2.0, 3.0), "val_loss": (5.0, 4.0, 6.0)}

    def figures(model):
        weights.append(model.get_weights())
        return {name: values[len(weights) - 1] for name, values in script.items()}

    monkeypatch.setattr("keraszoo.tagging.entity_tagger.held_out_figures", lambda *arguments: figures)
    tagger, some = new_tiny(tagged_sentences, characters=None), tagged_sentences[:40]
    history = tagger.fit(some, other_sentences, tmp_path / "model", epochs=3, monitor="val_loss", **FAST)
    saved = EntityTagger.from_preset(tmp_path / "model")
    kept = tagger.model.get_weights(), saved.model.get_weights()
    for ours, theirs, wanted in zip(*kept, weights[1], strict=True):
        np.testing.assert_array_equal(ours, wanted)
        np.testing.assert_array_equal(theirs, wanted)
    assert not all(map(np.array_equal, weights[1], weights[2]))
    assert saved.metrics["validation"] == {name: values[1] for name, values in script.items()}
    assert saved.metrics == tagger.metrics and {"loss", *script} <= set(history.history)
    assert tagger.metrics["training"]["tokens"] == 3 * sum(len(sentence.tokens) for sentence in some)


def test_a_trained_model_is_freed_with_its_tagger(tagged_sentences, other_sentences):
    tagger = new_tiny(tagged_sentences, characters=None)
    tagger.fit(tagged_sentences[:20], other_sentences[:5], epochs=1, **FAST)
    model = weakref.ref(tagger.model)
    del tagger
    gc.collect()
    assert model() is None

"""Shifts of the scores of labels, compared with a tagger whose bias has them."""

import crf_per_corpus
import label_shifts
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.evaluation.tagging import score_tags
from keraszoo.text.columns import column_lines
from keraszoo.text.lines import write_lines
from keraszoo.text.tagged_corpus import TaggedSentence

TAG_OF = {"Ada": "B-PER", "Bonn": "B-LOC", "met": "O", "in": "O"}


@pytest.fixture
def sentences():
    random = np.random.default_rng(3)
    drawn = [random.choice(list(TAG_OF), size=random.integers(1, 6)).tolist() for _ in range(120)]
    return [TaggedSentence(tuple(words), tuple(TAG_OF[word] for word in words)) for words in drawn]


@pytest.fixture
def directory(tmp_path):
    """Where an untrained tagger of two corpora was saved."""
    labels = [crf_per_corpus.every_label(name, ["LOC", "PER"]) for name in ("btc", "gmb")]
    tagger = EntityTagger.for_sentences(labels, configuration="tiny")
    random = np.random.default_rng(2)
    weights = tagger.model.get_weights()
    tagger.model.set_weights([random.normal(0, 0.2, w.shape).astype(w.dtype) for w in weights])
    tagger.corpora = ("btc", "gmb")
    tagger.save_to_preset(tmp_path / "tagger")
    return tmp_path / "tagger"


def f1(tagger, sentences):
    tags = tagger.tag_tokens([sentence.tokens for sentence in sentences])
    return score_tags([sentence.tags for sentence in sentences], tags).f1.score


def test_as_a_tagger_with_this_bias(directory, sentences):
    tagger = EntityTagger.from_preset(directory, "gmb")
    shifted = label_shifts.ShiftedTags(tagger, sentences)
    counts = {label: sum(s.tags.count(f"B-{label}") for s in sentences) for label in ("PER", "LOC")}
    assert shifted.labels[0] == max(counts, key=counts.get)
    bias, found = tagger.model.head.scores.bias, set()
    before = bias.numpy()
    for shifts in ({"PER": 0.0, "LOC": 0.0}, {"PER": 1.5, "LOC": -0.5}, {"PER": -2.0, "LOC": -3.0}):
        tags = tagger.vocabulary.tags
        added = [next((shifts[label] for label in shifts if tag.endswith(label)), 0) for tag in tags]
        bias.assign(before + np.array(added, "float32"))
        expected = f1(tagger, sentences[30:])
        assert shifted.f1(shifts, range(30, 120)) == pytest.approx(expected)
        found.add(round(expected, 4))
    assert len(found) > 1


@pytest.mark.slow
def test_one_corpus_of_the_saved_tagger_is_shifted(directory, sentences, tmp_path, capsys):
    write_lines(tmp_path / "held_out.tsv", column_lines(sentences))
    label_shifts.main(str(directory), tmp_path / "held_out.tsv", "gmb", tmp_path / "shifted")
    table = [line.split(", ") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:2] for row in table] == [["70", "50"], ["50", "70"], ["120", "120"]]
    before, after = (EntityTagger.from_preset(name, "gmb") for name in (directory, tmp_path / "shifted"))
    scores = [f1(before, sentences), f1(after, sentences)]
    assert scores[0] < scores[1]
    assert [table[2][2], table[2][4].split()[0]] == [f"{score:.2f}" for score in scores]
    words = [sentence.tokens for sentence in sentences]
    others = (EntityTagger.from_preset(name, "btc") for name in (directory, tmp_path / "shifted"))
    assert len({str(other.tag_tokens(words)) for other in others}) == 1

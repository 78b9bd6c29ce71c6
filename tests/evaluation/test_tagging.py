"""Scores of entities against counts by hand, and against what is known of seqeval."""

import json
import random

import pytest

from keraszoo.errors import ScoreError
from keraszoo.evaluation.tagging import known_entities, score_tags, strict_score
from keraszoo.text.tag_choice import relabel
from keraszoo.text.tag_schemes import convert, spans
from keraszoo.text.tagged_corpus import TaggedSentence


def f1s(gold, predicted, **options):
    scores = score_tags([gold.split()], [predicted.split()], **options)
    return round(scores.f1.score / 100, 3), round(scores.f1_default.score / 100, 3), scores.invalid


@pytest.mark.parametrize(
    ("gold", "predicted", "strict", "default", "invalid"),
    [
        ("B-PER I-PER", "I-PER I-PER", 0.0, 1.0, 1),
        # a stray I- is nothing to strict, and an entity to default
        ("B-PER O", "B-PER I-LOC", 1.0, 0.667, 1),
        ("O O", "O O", 0.0, 0.0, 0),
        ("O O", "I-X O", 0.0, 0.0, 1),
    ],
)
def test_strict_and_default(gold, predicted, strict, default, invalid):
    assert f1s(gold, predicted) == (strict, default, invalid)


def test_against_counts_by_a_loop():
    draw = random.Random(3)
    tags = ["O", "O", "B-A", "I-A", "B-B", "I-B"]
    predicted = [[draw.choice(tags) for _ in range(draw.randint(1, 9))] for _ in range(60)]
    gold = [list(convert([draw.choice(tags) for _ in p], "IOB2", "IOB2")) for p in predicted]
    right = spotted = there = 0
    for g, p in zip(gold, predicted, strict=True):
        wanted = set(spans(g, "IOB2"))
        got = {span for span in spans(p, "IOB2") if p[span.start].startswith("B")}
        right, spotted, there = right + len(wanted & got), spotted + len(got), there + len(wanted)
    scores = score_tags(gold, predicted)
    assert (scores.f1.gold, scores.f1.found) == (there, spotted)
    assert scores.f1.precision == pytest.approx(100 * right / spotted)
    assert scores.f1.recall == pytest.approx(100 * right / there)
    assert scores.f1.score == pytest.approx(200 * right / (spotted + there))
    assert sum(score.gold for score in scores.labels) == there
    confused = sum(n for label, row in scores.confusion.items() for n in row.values() if label)
    assert confused == there
    assert (scores.sentences, scores.tokens) == (60, sum(map(len, gold)))
    assert strict_score(gold, predicted) == scores.f1


def test_confusion_and_labels_are_shown_without_escape_sequences():
    gold = ["B-A I-A O B-B O B-A", "O O"]
    predicted = ["B-B I-B O B-B I-B O", "O B-B"]
    scores = score_tags([g.split() for g in gold], [p.split() for p in predicted])
    assert scores.confusion == {"": {"B": 1}, "A": {"": 1, "B": 1}, "B": {"B": 1}}
    assert scores.misplaced == 1
    shown = str(scores)
    assert "gold \\ found" in shown and "seqeval" in shown and "strict IOB2" in shown
    assert json.loads(json.dumps(scores.as_dict()))["confusion"][0] == ["", "B", 1]
    text = str(score_tags([["B-\x1b[31mA", "B-B"]], [["B-B", "O"]]))
    assert "\x1b" not in text and "\\x1b[31mA" in text


def test_of_two_predictions_over_an_entity_the_larger_overlap_counts():
    gold, predicted = ["B-A I-A I-A".split()], ["B-C B-B I-B".split()]
    scores = score_tags(gold, predicted)
    assert scores.confusion == {"A": {"B": 1}}  # C overlaps with an entity, so it is not counted as nowhere
    equal = score_tags([["B-A", "I-A", "O"]], [["O", "B-A", "I-A"]])
    assert (equal.confusion, equal.misplaced) == ({"A": {"A": 1}}, 1)


@pytest.mark.parametrize("label", ["-", "micro avg", "accuracy", "macro avg", "PER-", "_", "0"])
def test_no_name_of_a_label_changes_its_scores(label):
    """seqeval's report has rows of its own, and its strict mode strips hyphens from labels."""
    names = {"X": label.replace(" ", "\u00a0"), "Y": "PER"}
    gold = "B-X I-X O B-Y B-X O B-Y".split(), "B-Y O".split()
    predicted = "B-X I-X O B-Y O B-X B-X".split(), "O B-X".split()
    plain = score_tags(gold, predicted)
    scores = score_tags(*([relabel(tags, mapping=names) for tags in side] for side in (gold, predicted)))
    assert scores.f1 == plain.f1 and scores.f1_default == plain.f1_default
    by_name = {it.name: (it.precision, it.recall, it.score, it.gold) for it in scores.labels}
    of_x, of_per = (25.0, 50.0, pytest.approx(100 / 3), 2), (100.0, 1 / 3 * 100, 50.0, 3)
    assert by_name == {names["X"]: of_x, "PER": of_per}
    assert scores.confusion == {
        "": {names["X"]: 2},
        names["X"]: {"": 1, names["X"]: 1},
        "PER": {"": 1, names["X"]: 1, "PER": 1},
    }


def test_a_choice_and_a_mapping_of_labels():
    """By hand: PERSON is PER on the other side, DATE and MISC are left out."""
    gold = [["B-PERSON", "I-PERSON", "B-DATE", "B-LOC"], ["O", "B-PERSON"]]
    predicted = [["B-PER", "I-PER", "O", "B-LOC"], ["B-MISC", "B-LOC"]]
    scores = score_tags(gold, predicted, labels=["PER", "LOC"], mapping={"PERSON": "PER"})
    assert [(it.name, it.gold, it.found) for it in scores.labels] == [("LOC", 1, 2), ("PER", 2, 1)]
    assert (scores.f1.precision, scores.f1.recall) == (pytest.approx(200 / 3), pytest.approx(200 / 3))
    assert scores.confusion["PER"] == {"LOC": 1, "PER": 1}
    assert "" not in scores.confusion  # MISC is not counted as an entity that is nowhere
    tokens, known = [["Ed", "Koch", "now", "Rome"], ["is", "Ed"]], {(("Ed", "Koch"), "PERSON")}
    scores = score_tags(gold, predicted, tokens, known, mapping={"PERSON": "PER"})
    assert (scores.f1_seen.gold, scores.f1_seen.score) == (1, 100.0)


def test_entities_seen_in_training_and_others():
    train = [TaggedSentence(("Ed", "Koch", "ran"), ("B-P", "I-P", "O"))]
    tokens = [["Ed", "Koch", "met", "Ed"], ["Rome", "Ed", "Koch"]]
    gold = [["B-P", "I-P", "O", "B-P"], ["O", "B-P", "I-P"]]
    predicted = [["B-P", "I-P", "O", "B-P"], ["B-P", "O", "O"]]
    scores = score_tags(gold, predicted, tokens, known_entities(train))
    assert (scores.f1_seen.precision, scores.f1_seen.recall) == (100.0, 50.0)
    assert (scores.f1_unseen.precision, scores.f1_unseen.recall) == (50.0, 100.0)
    assert "f1_seen" not in score_tags(gold, predicted).as_dict()


@pytest.mark.parametrize(
    ("train", "name", "row"),
    [
        ("B-P O", "f1_unseen", "F1, unseen - - - 0 0 strict IOB2"),
        ("O O", "f1_seen", "F1, seen in training - - - 0 0 strict IOB2"),
    ],
)
def test_none_seen_or_none_unseen_is_no_figure_of_0(train, name, row):
    known = known_entities([TaggedSentence(("Ed", "ran"), tuple(train.split()))])
    scores = score_tags([["B-P", "O"]], [["B-P", "O"]], [["Ed", "sat"]], known)
    shown = [" ".join(line.split()) for line in str(scores).splitlines()]
    assert row in shown and sum("100.00 100.00 100.00 1 1" in line for line in shown) == 4
    assert json.loads(json.dumps(scores.as_dict()))[name]["score"] is None
    unseen = score_tags([["B-P", "O"]], [["B-P", "B-P"]], [["Ed", "sat"]], {(("Ed",), "P")}).f1_unseen
    assert (unseen.precision, unseen.recall, unseen.score) == (0.0, None, None)


def test_tags_of_another_scheme():
    assert f1s("B-A I-A O B-A", "B-A E-A O S-A", scheme="BIOES") == (1.0, 1.0, 0)
    assert f1s("B-A I-A O B-A", "B-A I-A O S-A", scheme="BIOES") == (1.0, 1.0, 1)


@pytest.mark.parametrize(
    ("gold", "predicted", "said"),
    [
        ([], [], "gold: expected at least one sentence"),
        ([["O"]], [["O"], ["O"]], "predicted: 2 sentences for 1 of gold"),
        ([["O"], ["O"]], [["O"], ["O", "O"]], r"predicted\[1\]: 2 tokens for 1 of gold"),
        ([["O"]], [["[PAD]"]], r"predicted\[0\]: expected a tag"),
        ([["O"]], [["S-A"]], r"predicted\[0\]: expected a tag of IOB2"),
        ([["O", "I-A"]], [["O", "O"]], r"gold\[0\]: is not valid IOB2: O I-A"),
    ],
)
def test_what_cannot_be_scored(gold, predicted, said):
    with pytest.raises(ScoreError, match=said):
        score_tags(gold, predicted)

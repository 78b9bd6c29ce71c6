"""Scores against sacrebleu's own command line and against values worked out by hand."""

import json
import math
import random
import subprocess
import sys

import pytest

from keraszoo.errors import ScoreError
from keraszoo.evaluation import score_translations
from keraszoo.evaluation.translation import cased_bleu

WORDS = "the The cat sat on mat, Mat. dog's  (not) Straße naïve 3,000 3.5 don't & €5 … 猫 — a".split()


def random_texts(seed, count=60):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(1, 15))) for _ in range(count)]


def command_line(tmp_path, hypotheses, references, *options):
    paths = []
    for i, texts in enumerate([hypotheses, *references]):
        paths.append(tmp_path / f"{i}.txt")
        paths[-1].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *paths[1:], "-i", paths[0], "-w", "6", *options]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    values = json.loads(output)
    return [
        (value["score"], value["signature"]) for value in (values if isinstance(values, list) else [values])
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_the_figures_are_those_of_the_command_line(tmp_path, count):
    references = [random_texts(seed) for seed in range(count)]
    rng = random.Random(9)
    hypotheses = [" ".join(word for word in text.split() if rng.random() < 0.8) for text in references[0]]
    scores = score_translations(hypotheses, references if count > 1 else references[0])
    assert cased_bleu(hypotheses, references) == scores.bleu.score
    cased = command_line(tmp_path, hypotheses, references, "-m", "bleu", "chrf", "ter")
    lower = command_line(tmp_path, hypotheses, references, "-m", "bleu", "-lc")
    ours = [scores.bleu, scores.chrf, scores.ter, scores.bleu_lowercased]
    for score, (expected, signature) in zip(ours, cased + lower, strict=True):
        assert score.score == pytest.approx(expected, abs=1e-6)
        assert score.signature == signature
    assert f"nrefs:{count}|" in scores.bleu.signature and "case:mixed" in scores.bleu.signature
    assert "case:lc" in scores.bleu_lowercased.signature and "tok:13a" in scores.bleu_lowercased.signature


def test_values_worked_out_by_hand():
    reference = ["the cat sat on the mat"]
    longer = score_translations(["the cat sat on the mat today"], reference)
    assert longer.bleu.score == pytest.approx(100 * (6 / 7 * 5 / 6 * 4 / 5 * 3 / 4) ** (1 / 4))
    assert longer.ter.score == pytest.approx(100 / 6)  # one word to delete, six in the reference
    shorter = score_translations(["the cat sat on the"], reference)
    assert shorter.bleu.score == pytest.approx(100 * math.exp(1 - 6 / 5))  # all n-grams right, one word short
    same = score_translations(reference, reference)
    assert (same.bleu.score, same.chrf.score, same.ter.score) == (pytest.approx(100), 100, 0)


def test_case_counts_in_one_of_the_two_bleus():
    scores = score_translations(["The Cat Sat On The Mat"], ["the cat sat on the mat"])
    assert scores.bleu.score < 10 and scores.bleu_lowercased.score == pytest.approx(100)


def test_several_references_are_whole_translations():
    scores = score_translations(["a b c d", "e f g h"], [["a b c d", "x"], ["y", "e f g h"]])
    assert scores.bleu.score == pytest.approx(100) and scores.sentences == 2


def test_blank_translations_are_scored():
    scores = score_translations(["", "a b c d"], ["e f g h", "a b c d"])
    assert 0 < scores.bleu.score < 100 and scores.ter.score == pytest.approx(50)


def test_results_as_json_and_as_a_table():
    scores = score_translations(["a b c d"], ["a b c d"])
    value = json.loads(json.dumps(scores.as_dict()))
    assert set(value) == {"bleu", "bleu_lowercased", "chrf", "ter", "sentences"}
    assert value["bleu"]["signature"] == scores.bleu.signature and "BP = 1.000" in value["bleu"]["details"]
    lines = str(scores).splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "BLEU",
        "BLEU, lower-cased, 13a tokens",
        "chrF2",
        "TER",
    ]
    assert len({line.index("|") - line.index("nrefs") for line in lines}) == 1
    assert all(len(line) < 120 for line in lines)


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b"], ["a"], r"references: 1 sentences for 2 hypotheses"),
        (["a"], ["a", "b"], r"references: 2 sentences for 1 hypotheses"),
        (["a", "b"], [["a", "b"], ["a"]], r"references\[1\]: 1 sentences for 2 hypotheses"),
        ([], [], r"at least one translation, got none"),
        (["a"], [], r"references: 0 sentences for 1 hypotheses"),
        ("abc", ["a", "b", "c"], r"hypotheses: expected a list of str, got a str, 'abc'"),
        (["a"], "a", r"references: expected a list of str, got a str, 'a'"),
        (["a", "b"], [["a", "b"], "ab"], r"references\[1\]: expected a list of str, got a str"),
        (["a", None], ["a", "b"], r"hypotheses\[1\]: expected a str, got NoneType"),
        (["a", "b"], ["a", 3], r"references\[1\]: expected a str, got int"),
        (["a"], [[b"a"]], r"references\[0\]\[0\]: expected a str, got bytes"),
        (["a", "b"], ["a", ["b"]], r"references\[1\]: expected a str, got list"),
        (None, ["a"], r"hypotheses: expected a list of str, got a NoneType"),
    ],
)
def test_what_cannot_be_scored_is_refused(hypotheses, references, message):
    with pytest.raises(ScoreError, match=message):
        score_translations(hypotheses, references)

"""Scores against sacrebleu's own command line and against values worked out by hand."""

import json
import random
import subprocess
import sys

import pytest

from keraszoo.errors import ScoreError
from keraszoo.evaluation import score_translations
from keraszoo.evaluation.tokenizers import fitting_tokenizer
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
    return [(it["score"], it["signature"]) for it in (values if isinstance(values, list) else [values])]


def test_the_figures_are_those_of_the_command_line(tmp_path):
    references = [random_texts(seed) for seed in range(3)]
    rng = random.Random(9)
    hypotheses = [" ".join(word for word in text.split() if rng.random() < 0.8) for text in references[0]]
    scores = score_translations(hypotheses, references)
    assert cased_bleu(hypotheses, references) == scores.bleu.score
    cased = command_line(tmp_path, hypotheses, references, "-m", "bleu", "chrf", "ter")
    lower = command_line(tmp_path, hypotheses, references, "-m", "bleu", "-lc")
    ours = [scores.bleu, scores.chrf, scores.ter, scores.bleu_lowercased]
    for score, (expected, signature) in zip(ours, cased + lower, strict=True):
        assert score.score == pytest.approx(expected, abs=1e-6)
        assert score.signature == signature
    assert "nrefs:3|" in scores.bleu.signature and "case:mixed" in scores.bleu.signature
    assert "case:lc" in scores.bleu_lowercased.signature and "tok:13a" in scores.bleu_lowercased.signature


def test_results_as_json_and_as_a_table():
    scores = score_translations(["a b c d"], ["a b c d"])
    value = json.loads(json.dumps(scores.as_dict()))
    assert set(value) == {"bleu", "bleu_lowercased", "chrf", "ter", "sentences"}
    assert value["bleu"]["signature"] == scores.bleu.signature and "BP = 1.000" in value["bleu"]["details"]
    lines = str(scores).splitlines()
    names = ["BLEU", "BLEU, lower-cased, 13a tokens", "chrF2", "TER"]
    assert [line.split("  ")[0] for line in lines] == names
    assert len({line.index("|") - line.index("nrefs") for line in lines}) == 1
    assert all(len(line) < 120 for line in lines)


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a", "b"], ["a"], r"references: 1 sentences for 2 hypotheses"),
        (["a", "b"], [["a", "b"], ["a"]], r"references\[1\]: 1 sentences for 2 hypotheses"),
        ([], [], r"at least one translation, got none"),
        (["a"], [], r"references: 0 sentences for 1 hypotheses"),
        (["a"], ["a", "b"], r"references: 2 sentences for 1 hypotheses"),
        ("abc", ["a", "b", "c"], r"hypotheses: expected a list of str, got a str, 'abc'"),
        (["a", "b"], [["a", "b"], "ab"], r"references\[1\]: expected a list of str, got a str"),
        (["a", "b"], ["a", ["b"]], r"references\[1\]: expected a str, got list"),
    ],
)
def test_what_cannot_be_scored_is_refused(hypotheses, references, message):
    with pytest.raises(ScoreError, match=message):
        score_translations(hypotheses, references)


CHINESE = ["我们昨天在公园里看到了一只很大的狗。", "他不喜欢喝咖啡，但是喜欢喝茶。"]
JAPANESE = ["昨日、公園で大きな犬を見ました。", "彼はコーヒーが好きではない。"]


def test_chinese_is_scored_as_by_the_command_line(tmp_path):
    hypotheses = ["我们昨天在公园里看到了一只狗。", "他不喜欢喝咖啡，但喜欢喝茶。"]
    scores = score_translations(hypotheses, CHINESE)
    options = "-m", "bleu", "ter", "-tok", "zh", "--ter-asian-support", "--ter-normalized"
    theirs = command_line(tmp_path, hypotheses, [CHINESE], *options)
    for ours, (expected, signature) in zip((scores.bleu, scores.ter), theirs, strict=True):
        assert ours.score == pytest.approx(expected, abs=1e-6) and ours.signature == signature
    assert scores.bleu_lowercased.name == "BLEU, lower-cased, zh tokens"


def test_a_tokenizer_that_does_not_fit_or_lacks_a_package_is_named(monkeypatch):
    with pytest.warns(UserWarning, match="13a splits words at blanks, .* expected the tokenizer zh"):
        score_translations(CHINESE, CHINESE, tokenizer="13a")
    with pytest.raises(ScoreError, match="tokenizer: expected one of 13a, zh, .* got '14a'"):
        score_translations(CHINESE, CHINESE, tokenizer="14a")
    monkeypatch.setattr("keraszoo.evaluation.tokenizers.find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=r"char, as ja-mecab needs `pip install 'sacrebleu\[ja\]'`"):
        assert score_translations(JAPANESE, JAPANESE).bleu.score == pytest.approx(100)
    with pytest.raises(ScoreError, match=r"ko-mecab needs `pip install 'sacrebleu\[ko\]'`"):
        score_translations(JAPANESE, JAPANESE, tokenizer="ko-mecab")


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [
        (CHINESE, "zh"),
        (JAPANESE, "ja-mecab"),
        (["나는 커피를 좋아하지 않습니다."], "ko-mecab"),
        (["สุนัขวิ่ง"], "char"),
        (["The word 茶 means tea."], "13a"),
        (["Я не люблю кофе.", "قهوه"], "13a"),
        (["123 !"], "13a"),
        ([], "13a"),
    ],
)
def test_the_script_of_most_letters_decides(texts, tokenizer):
    assert fitting_tokenizer(texts) == tokenizer

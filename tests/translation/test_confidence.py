"""Confidence: the fit against probabilities that are known, in the directory, and on the command line."""

import json

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from keraszoo import Translator
from keraszoo.errors import DataError, KerasZooError
from keraszoo.evaluation import expected_calibration_error, reliability
from keraszoo.translation.confidence import Confidence, judged

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def pairs(test_pairs):
    """Held-out pairs, some with a second reference, and every fourth with a wrong one alone."""
    pairs = [
        (source, "sechs sechs eins fünf" if i % 4 == 0 else target)
        for i, (source, target) in enumerate(test_pairs[:20])
    ]
    return [*pairs, *((source, "vier") for source, _ in pairs[:7])]


def test_the_fit_finds_the_weights_that_made_the_results():
    draw = np.random.default_rng(0)
    tokens = draw.integers(2, 40, 20_000)
    log_probs = -draw.gamma(2, 0.2, 20_000) * tokens
    true = Confidence(threshold=60.0, bias=1.0, slope=3.0, length=0.5)
    right = np.array([true(*given) for given in zip(log_probs, tokens, strict=True)])
    good = draw.uniform(size=20_000) < right
    found = Confidence.fit(log_probs, tokens, good)
    assert [found.bias, found.slope, found.length] == pytest.approx([1.0, 3.0, 0.5], abs=0.2)
    ours = [found(*given) for given in zip(log_probs, tokens, strict=True)]
    np.testing.assert_allclose(ours, right, atol=0.02)
    assert expected_calibration_error(reliability(ours, good)) < 0.015


def test_results_that_a_line_separates_have_finite_weights():
    found = Confidence.fit([-1.0, -1.1, -20.0, -21.0], [5, 5, 5, 5], [True, True, False, False])
    assert 0.5 < found(-1.0, 5) < 1 and 0 < found(-20.0, 5) < 0.5
    assert 0 < found(-1e9, 5) < found(0.0, 5) < 1


def test_translations_are_judged_by_their_best_reference(trained, pairs):
    references = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    details = trained.translate_details(list(references))
    expected = [
        max(CHRF().sentence_score(found.text, [text]).score for text in texts) >= 50
        for found, texts in zip(details, references.values(), strict=True)
    ]
    log_probs, tokens, good = judged(trained, [*pairs, ("", "eins"), ("one", " ")], 50)
    assert good == expected and 0 < sum(good) < len(good)
    assert tokens == [len(found.tokens) for found in details]
    assert log_probs == pytest.approx([found.log_prob for found in details], abs=1e-4)


@pytest.mark.slow
def test_details_have_a_confidence_once_calibrated(trained, trained_directory, pairs):
    sources = [pairs[0][0], "", pairs[1][0]]
    calibrated = Translator.from_preset(trained_directory)
    calibrated.calibrate(pairs, threshold=50)
    assert [found.confidence for found in trained.translate_details(sources)] == [None] * 3
    found = calibrated.translate_details(sources)
    for details in (found[0], found[2]):
        assert details.confidence == calibrated.confidence(details.log_prob, len(details.tokens))
    assert found[1].confidence is None
    calibrated.fit(pairs, epochs=1)
    assert calibrated.confidence is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([],), "expected held-out pairs, got none"),
        ((["one"],), "expected pairs of str, got 'one'"),
        (([("one two", "x")], 90), "0 of 1 translations have a chrF2 of at least 90, expected some"),
        (([("one two", "x")], 101), "threshold must be from 0 to 100. Received: 101"),
    ],
)
def test_what_calibration_needs(trained, arguments, said):
    with pytest.raises((DataError, KerasZooError), match=said):
        trained.calibrate(*arguments)
    assert trained.confidence is None


@pytest.mark.slow
def test_the_commands_calibrate_and_translate(run, trained_directory, pairs, tmp_path):
    file, output = tmp_path / "pairs.tsv", tmp_path / "calibrated"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    given = "calibrate", trained_directory, file, "--output", output
    code, out, _ = run(*given, "--threshold", "50")
    assert (code, out) == (0, f"{output}\n")
    code, out, _ = run("translate", output, "--json", stdin=f"{pairs[0][0]}\n\n".encode())
    first, blank = map(json.loads, out.splitlines())
    (details,) = Translator.from_preset(output).translate_details([pairs[0][0]])
    assert code == 0 and first["confidence"] == pytest.approx(details.confidence, abs=1e-3)
    assert "confidence" not in blank
    file.write_text("one\tx\n")
    code, out, err = run(*given)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "0 of 1 translations" in err
    assert Translator.from_preset(output).confidence is not None  # the old directory stays

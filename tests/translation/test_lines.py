"""One line in, one line out: with a translator that reverses letters."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keraszoo.errors import KerasZooError
from keraszoo.translation.lines import describe_lines, translate_lines
from keraszoo.translation.results import Hypothesis, Translation


class Reversing:
    """Translates by reversing; remembers its options."""

    def translate(self, sources, **options):
        self.options = options
        return [source[::-1] if source.strip() else "" for source in sources]

    def translate_details(self, sources, **options):
        found = []
        for source, text in zip(sources, self.translate(sources, **options), strict=True):
            weights = np.eye(len(text), dtype="float32")[::-1]
            hypotheses = [Hypothesis(text, -0.5, -0.5), Hypothesis("?", -2, -2)] if text else []
            found.append(Translation(text, np.float32(-0.5), [*text], [*source], weights, hypotheses))
        return found


@given(st.lists(st.text(st.sampled_from("ab \t\u2028\x0b"), max_size=4), max_size=9), st.integers(1, 4))
def test_as_many_lines_come_out_as_went_in(lines, chunk):
    answers = [line for some in translate_lines(Reversing(), iter(lines), chunk) for line in some]
    assert len(answers) == len(lines)
    for line, answer in zip(lines, answers, strict=True):
        assert answer == ("" if not line.strip() else " ".join(line[::-1].splitlines()))
        assert len(answer.splitlines()) <= 1


def test_options_are_passed_on_and_a_chunk_is_answered_before_the_next_is_read():
    translator = Reversing()
    answers = list(translate_lines(translator, ["", "ab", "  ", "", "c"], chunk=3, beam_width=2))
    assert answers == [["", "ba", ""], ["", "c"]] and translator.options == {"beam_width": 2}
    read = []
    lines = (read.append(i) or f"line {i}" for i in range(10))
    next(translate_lines(translator, lines, chunk=2))
    assert read == [0, 1]


def test_descriptions_are_json_with_attention_only_if_it_was_asked_for():
    (answers,) = describe_lines(Reversing(), ["äb", ""], attention=True)
    first, blank = map(json.loads, answers)
    without = {
        "source": "äb",
        "text": "bä",
        "log_prob": -0.5,
        "hypotheses": [{"text": "bä", "log_prob": -0.5}, {"text": "?", "log_prob": -2.0}],
    }
    tokens = {"source_tokens": ["ä", "b"], "tokens": ["b", "ä"]}
    assert first == {**without, **tokens, "attention_weights": [[0.0, 1.0], [1.0, 0.0]]}
    assert blank == {"source": "", "text": ""} and "ä" in answers[0]
    ((answer,),) = describe_lines(Reversing(), ["äb"])
    assert json.loads(answer) == without


def test_lines_that_would_be_lost():
    with pytest.raises(KerasZooError, match="chunk must be at least 1, got 0"):
        list(translate_lines(None, ["a"], chunk=0))
    with pytest.raises(KerasZooError, match="lines: expected an iterable of str, got one str"):
        list(translate_lines(None, "file.txt"))

"""Search options: every value out of its range is one clear error."""

import json

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.search import SearchOptions

BAD = [
    ({"beam_width": 0}, "beam_width must be from 1 to 1000. Received: 0"),
    ({"beam_width": True}, "beam_width must be a whole number"),
    ({"num_hypotheses": 0}, "num_hypotheses must be from 1 to 5 .beam_width.. Received: 0"),
    ({"num_hypotheses": 6}, "num_hypotheses must be from 1 to 5 .beam_width.. Received: 6"),
    ({"max_length": 0}, "max_length must be from 1 to 100000"),
    ({"min_length": -1}, "min_length must be from 0 to 99"),
    ({"min_length": 100}, r"min_length must be from 0 to 99 \(max_length - 1\)"),
    ({"length_penalty": -0.1}, "length_penalty must be from 0 to 5. Received: -0.1"),
    ({"length_penalty": float("nan")}, "length_penalty must be from 0 to 5"),
    ({"length_penalty": "high"}, "length_penalty must be a number.*Received: 'high'"),
    ({"coverage_penalty": -1}, "coverage_penalty must be from 0 to 1000"),
    ({"no_repeat_ngram": -1}, "no_repeat_ngram must be at least 0"),
    ({"normalization": "none"}, 'normalization must be "length" or "gnmt". Received: \'none\''),
    ({"temperature": 0}, "temperature must be at least 1e-38. Received: 0"),
    ({"top_k": -1}, "top_k must be at least 0"),
    ({"top_p": 0}, "top_p must be from 1e-38 to 1. Received: 0"),
    ({"top_p": 1.1}, "top_p must be from 1e-38 to 1. Received: 1.1"),
    ({"normalization": None}, "normalization must be a string. Received: None"),
    ({"sampling": 1}, "sampling must be True or False. Received: 1"),
    ({"temperature": 0.5}, "temperature is for sampling=True alone. Received: temperature=0.5"),
    ({"top_k": 3}, "top_k is for sampling=True alone. Received: top_k=3"),
    ({"top_p": 0.9}, "top_p is for sampling=True alone. Received: top_p=0.9"),
    ({"seed": 7}, "seed is for sampling=True alone. Received: seed=7"),
    ({"sampling": True}, "Sampling keeps one hypothesis. Received: beam_width=5"),
]


@pytest.mark.parametrize(("values", "message"), BAD, ids=lambda x: str(x)[:40])
def test_a_value_out_of_range_is_an_error(values, message):
    with pytest.raises(KerasZooError, match=message):
        SearchOptions(**values)


def test_replace_changes_some_and_leaves_the_rest():
    options = SearchOptions(beam_width=5, num_hypotheses=5, length_penalty=0.5)
    changed = options.replace(max_length=7, length_penalty=None)
    assert changed == SearchOptions(beam_width=5, num_hypotheses=5, length_penalty=0.5, max_length=7)
    assert options.max_length == 100
    assert options.replace(beam_width=2).num_hypotheses == 2  # a narrower beam has fewer
    assert options.replace(beam_width=8).num_hypotheses == 5
    assert options.replace(sampling=True).beam_width == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 3}, "There is no search option 'beam_size', did you mean beam_width?"),
        ({"num_hypotheses": 9}, "num_hypotheses must be from 1 to 5"),
    ],
)
def test_replace_checks_as_well(changes, message):
    with pytest.raises(KerasZooError, match=message):
        SearchOptions().replace(**changes)


def test_options_of_sampling_end_with_it():
    drawing = SearchOptions(beam_width=1, sampling=True, temperature=0.7, top_k=5, top_p=0.9, seed=3)
    assert drawing.replace(sampling=False, beam_width=4) == SearchOptions(beam_width=4)
    with pytest.raises(KerasZooError, match="top_k is for sampling=True alone"):
        drawing.replace(sampling=False, top_k=2)


def test_as_a_dict_and_back():
    options = SearchOptions(beam_width=1, sampling=True, top_p=0.9, seed=7)
    assert SearchOptions(**json.loads(json.dumps(options.as_dict()))) == options


def test_options_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        SearchOptions().beam_width = 3


def test_numbers_of_numpy_are_numbers():
    numbers = {"length_penalty": np.float32(0.5), "max_length": np.int32(9)}
    options = SearchOptions(beam_width=np.int64(2)).replace(**numbers)
    assert options == SearchOptions(beam_width=2, length_penalty=0.5, max_length=9)
    assert [type(value) for value in (options.beam_width, options.length_penalty)] == [int, float]

"""Tag schemes, against all short sequences, all sets of spans, and seqeval's own reading."""

import itertools

import numpy as np
import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.tag_schemes import (
    SCHEMES,
    Span,
    allowed_transitions,
    convert,
    detect_scheme,
    repair,
    spans,
    split_tag,
    tag_names,
    tags_of,
)

LABELS = ("a", "b")
ALL = tuple(SCHEMES)


def all_sequences(scheme, longest=4):
    tags = tag_names(LABELS, scheme)
    return [tags_ for length in range(longest + 1) for tags_ in itertools.product(tags, repeat=length)]


def all_span_sets(length):
    """Every way to put labelled spans that do not overlap over `length` tokens."""
    if length <= 0:
        return [[]] if length == 0 else []
    sets = list(all_span_sets(length - 1))
    for size in range(1, length + 1):
        for before in all_span_sets(length - size):
            sets += [[*before, Span(label, length - size, length)] for label in LABELS]
    return sets


def touching(some):
    """Whether two spans of one label stand side by side."""
    return any(one.end == other.start and one.label == other.label for one, other in itertools.pairwise(some))


@pytest.mark.parametrize("scheme", ALL)
def test_valid_is_what_repair_leaves_alone(scheme):
    tags = tag_names(LABELS, scheme)
    transitions, start, end = allowed_transitions(tags, scheme)
    assert transitions.shape == (len(tags),) * 2 and transitions.dtype == start.dtype == end.dtype == bool
    for sequence in all_sequences(scheme):
        ids = [tags.index(tag) for tag in sequence]
        allowed = all(transitions[i, j] for i, j in itertools.pairwise(ids))
        allowed = allowed and (not ids or (start[ids[0]] and end[ids[-1]]))
        mended, count = repair(sequence, scheme)
        assert (count == 0) == allowed == (mended == sequence), sequence
        assert repair(mended, scheme) == (mended, 0)
        assert spans(mended, scheme) == spans(sequence, scheme)


@pytest.mark.parametrize("scheme", ALL)
def test_spans_are_those_of_seqeval(scheme):
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    letters = str.maketrans("LU", "ES")  # get_entities does not know BILOU's
    for sequence in all_sequences(scheme):
        theirs = get_entities([tag.translate(letters) for tag in sequence])
        assert spans(sequence, scheme) == [Span(label, start, end + 1) for label, start, end in theirs]


@pytest.mark.parametrize(("scheme", "name"), [("IOB2", "IOB2"), ("BIOES", "IOBES"), ("BILOU", "BILOU")])
def test_mended_tags_are_what_strict_seqeval_reads(scheme, name):
    module = pytest.importorskip("seqeval.scheme")
    for sequence in all_sequences(scheme, longest=3):
        mended, _ = repair(sequence, scheme)
        if mended:
            (entities,) = module.Entities([list(mended)], getattr(module, name)).entities
            assert spans(sequence, scheme) == [Span(e.tag, e.start, e.end) for e in entities]


@pytest.mark.parametrize("length", [0, 1, 5])
def test_spans_there_and_back_in_every_scheme(length):
    sets = all_span_sets(length)
    assert len(sets) == {0: 1, 1: 3, 5: 571}[length]
    for wanted in sets:
        for source, target in itertools.product(ALL, repeat=2):
            if touching(wanted) and "IO" in (source, target):
                continue
            tags = tags_of(wanted, length, source)
            assert repair(tags, source) == (tags, 0)
            assert spans(tags, source) == wanted
            assert convert(tags, source, target) == tags_of(wanted[::-1], length, target)


def test_the_table_of_the_file():
    wanted = [Span("L", 0, 2), Span("P", 3, 5), Span("L", 5, 6), Span("L", 6, 7)]
    table = {
        "IO": "I-L I-L O I-P I-P I-L I-L",
        "IOB1": "I-L I-L O I-P I-P I-L B-L",
        "IOB2": "B-L I-L O B-P I-P B-L B-L",
        "BIOES": "B-L E-L O B-P E-P S-L S-L",
        "BILOU": "B-L L-L O B-P L-P U-L U-L",
    }
    for scheme, line in table.items():
        assert tags_of(wanted, 7, scheme) == tuple(line.split())
        assert detect_scheme([line.split()]) == scheme


@pytest.mark.parametrize(
    ("lines", "scheme"),
    [
        ([], "IOB2"),
        (["", "O O"], "IOB2"),
        (["I-a I-a O", "I-b"], "IO"),
        (["I-a O I-a", "I-a B-a", "I-b I-a"], "IOB1"),
        (["B-a I-a", "I-a O", "B-b", "B-a B-a"], "IOB2"),  # one stray I does not make it IOB1
        (["I-a", "I-a I-a", "B-b", "I-a B-a"], "IOB1"),  # nor one needless B IOB2
        (["I-a", "B-b"], "IOB2"),  # as many violations of one as of the other
        (["B-a I-a E-a"], "BIOES"),
        (["O S-a", "I-a"], "BIOES"),
        (["B-a L-a"], "BILOU"),
    ],
)
def test_detection(lines, scheme):
    assert detect_scheme(line.split() for line in lines) == scheme


def test_tag_names_are_in_a_fixed_order():
    assert tag_names(["b", "a", "b"], "BIOES") == ("O", *(f"{x}-{y}" for y in "ab" for x in "BIES"))
    assert tag_names(["a"], "BILOU") == ("O", "B-a", "I-a", "L-a", "U-a")
    assert tag_names(["a"], "IO") == ("O", "I-a") and tag_names(["a"], "IOB1") == ("O", "B-a", "I-a")
    assert tag_names([], "IOB2") == ("O",)
    transitions, start, end = allowed_transitions(("O",), "IOB2")
    np.testing.assert_array_equal(transitions, [[True]])
    assert start.all() and end.all()


@pytest.mark.parametrize("tag", ["", "o", "PER", "B", "B-", "B_PER", "X-PER", "-PER", "b-PER", "O-PER"])
def test_what_is_no_tag(tag):
    with pytest.raises(DataError, match="expected a tag such as O, B-PER or I-PER, got"):
        split_tag(tag)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (spans, (["O"], "BIO"), "expected a tag scheme of IO, .*, got 'BIO'"),
        (spans, (["E-a"], "IOB2"), "expected a tag of IOB2, with a letter of BI, got 'E-a'"),
        (tags_of, ([Span("a", 1, 1)], 3, "IOB2"), "expected a span of tokens within 0 and 3"),
        (tags_of, ([Span("a", -1, 1)], 3, "IOB2"), "expected a span of tokens within 0 and 3"),
        (tags_of, ([Span("a", 2, 4)], 3, "IOB2"), "expected a span of tokens within 0 and 3"),
        (tags_of, ([Span("a", 0, 2), Span("b", 1, 3)], 3, "IOB2"), "do not overlap"),
        (detect_scheme, ([["B-a", "E-a"], ["B-a", "L-a"]],), "one scheme, .*: 1 E, 0 S, 1 L, 0 U"),
    ],
)
def test_what_cannot_be(function, arguments, message):
    with pytest.raises(KerasZooError, match=message):
        function(*arguments)

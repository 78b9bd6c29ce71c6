"""Tags of tokens and the spans they spell: IO, IOB1, IOB2, BIOES and BILOU.

A tag is `O` or a letter, a hyphen and a label: `B-PER`, `I-creative-work`. The letter says where in a span of
that label the token stands; the schemes differ in their letters:

    tokens   New    York   Mayor  Ed     Koch   Paris  Rome       two spans of one label touch: Paris, Rome
    IO       I-LOC  I-LOC  O      I-PER  I-PER  I-LOC  I-LOC      and are one here
    IOB1     I-LOC  I-LOC  O      I-PER  I-PER  I-LOC  B-LOC      B only where spans of one label touch
    IOB2     B-LOC  I-LOC  O      B-PER  I-PER  B-LOC  B-LOC
    BIOES    B-LOC  E-LOC  O      B-PER  E-PER  S-LOC  S-LOC
    BILOU    B-LOC  L-LOC  O      B-PER  L-PER  U-LOC  U-LOC

Sequences that a scheme does not allow are read as conlleval of the CoNLL-2003 task reads them: a span begins
where a letter says so or the label changes, and ends where a letter says so or something else begins.
"""

import functools
from collections import Counter
from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError, KerasZooError

# The letters of the first token of a span, those between, the last one, and of a span of one token.
SCHEMES = {"IO": "IIII", "IOB1": "IIII", "IOB2": "BIIB", "BIOES": "BIES", "BILOU": "BILU"}

BEGINS = frozenset("BSU")  # a span begins here, whatever stands before
ENDS = frozenset("ESLU")  # a span ends here, whatever follows


class Span(NamedTuple):
    """A labelled stretch of tokens, `start` to `end`, the end exclusive."""

    label: str
    start: int
    end: int


def split_tag(tag):
    """Returns the letter and the label of a tag; `("O", "")` for `O`.

    Raises:
        DataError: neither `O` nor one of the letters B, I, E, S, L, U with a hyphen and a label.

    Example:

    >>> split_tag("B-creative-work"), split_tag("O")
    (('B', 'creative-work'), ('O', ''))
    """
    if tag == "O":
        return "O", ""
    if len(tag) < 3 or tag[0] not in "BIESLU" or tag[1] != "-":
        raise DataError(f"expected a tag such as O, B-PER or I-PER, got {tag!r}")
    return tag[0], tag[2:]


def detect_scheme(sequences):
    """Finds the scheme in which sequences of tags are written.

    E or S mean BIOES, L or U mean BILOU, no letter but I means IO. Between IOB1 and IOB2 decides which
    has fewer tags against it: an I that begins a span is none of IOB2, a B that need not be there none of
    IOB1. Tags that are all `O` pass for IOB2.

    Args:
        sequences: an iterable of sequences of tags, one for each sentence.

    Returns:
        A key of `SCHEMES`.

    Raises:
        DataError: a tag of no scheme, or letters of both BIOES and BILOU.

    Example:

    >>> detect_scheme([["I-PER", "B-PER", "O"]]), detect_scheme([["B-PER", "I-PER"], ["I-LOC"], ["B-LOC"]])
    ('IOB1', 'IOB2')
    """
    letters, begins_with_i, begins_needlessly = Counter(), 0, 0
    for tags in sequences:
        before = ""
        for letter, label in map(split_tag, tags):
            letters[letter] += 1
            begins_with_i += letter == "I" and label != before
            begins_needlessly += letter == "B" and label != before
            before = label
    last = {"BIOES": letters["E"] + letters["S"], "BILOU": letters["L"] + letters["U"]}
    if all(last.values()):
        counts = ", ".join(f"{letters[letter]} {letter}" for letter in "ESLU")
        raise DataError(f"expected tags of one scheme, got letters of BIOES and of BILOU: {counts}")
    if any(last.values()):
        return max(last, key=last.get)
    if not letters["B"]:
        return "IO" if letters["I"] else "IOB2"
    return "IOB2" if begins_with_i <= begins_needlessly else "IOB1"


def spans(tags, scheme):
    """The spans that tags spell; what the scheme does not allow is read as `repair` mends it.

    Args:
        tags: a sequence of tags.
        scheme: a key of `SCHEMES`.

    Returns:
        List of `Span`, in order; they do not overlap.

    Raises:
        DataError: a tag of no scheme, or with a letter that this one does not have.
        KerasZooError: an unknown scheme.

    Example:

    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], "IOB2")
    [Span(label='PER', start=0, end=2), Span(label='LOC', start=3, end=4)]
    """
    letters_of(scheme)
    found, start, before, ended = [], 0, "", False
    for place, tag in enumerate(tags):
        letter, label = _split(tag, scheme)
        if label != before or ended or letter in BEGINS:
            if before and not ended:
                found.append(Span(before, start, place))
            start = place
        ended = letter in ENDS
        if ended:
            found.append(Span(label, start, place + 1))
        before = label
    if before and not ended:
        found.append(Span(before, start, len(tags)))
    return found


def tags_of(spans, length, scheme):
    """The tags of spans, the inverse of `spans`.

    Where spans of one label touch, IO cannot tell them apart.

    Args:
        spans: iterable of `Span`, in any order.
        length: the number of tokens.
        scheme: a key of `SCHEMES`.

    Returns:
        Tuple of `length` tags.

    Raises:
        DataError: a span that is empty or out of range, or two that overlap.
        KerasZooError: an unknown scheme.

    Example:

    >>> tags_of([Span("PER", 0, 2), Span("LOC", 2, 3)], 4, "BIOES")
    ('B-PER', 'E-PER', 'S-LOC', 'O')
    """
    letters_of(scheme)
    first, inside, last, single = SCHEMES[scheme]
    tags = ["O"] * length
    end, label = 0, None
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if not 0 <= span.start < span.end <= length:
            raise DataError(f"expected a span of tokens within 0 and {length}, got {span}")
        if span.start < end:
            raise DataError(f"expected spans that do not overlap, got {span} after one that ends at {end}")
        touches = scheme == "IOB1" and span.start == end and span.label == label
        start, end, label = span.start, span.end, span.label
        letters = single if end - start == 1 else first + inside * (end - start - 2) + last
        if touches:
            letters = "B" + letters[1:]
        tags[start:end] = [f"{letter}-{label}" for letter in letters]
    return tuple(tags)


def convert(tags, source, target):
    """Tags of one scheme as tags of another; what `source` does not allow is mended on the way.

    Returns:
        Tuple of tags.

    Raises:
        As `spans` does.

    Example:

    >>> convert(["I-PER", "I-PER", "B-PER"], "IOB1", "BILOU")
    ('B-PER', 'L-PER', 'U-PER')
    """
    return tags_of(spans(tags, source), len(tags), target)


def repair(tags, scheme):
    """Makes tags valid in their scheme, without a change to a valid sequence.

    Returns:
        (tags, count): a tuple of tags, and how many of them are others than before.

    Raises:
        As `spans` does.

    Example:

    >>> repair(["O", "I-PER", "I-PER", "I-LOC"], "IOB2")
    (('O', 'B-PER', 'I-PER', 'B-LOC'), 2)
    """
    mended = convert(tags, scheme, scheme)
    return mended, sum(old != new for old, new in zip(tags, mended, strict=True))


def tag_names(labels, scheme):
    """All tags of some labels: `O` first, then label by label in alphabetical order.

    Args:
        labels: iterable of str; what occurs twice counts once.
        scheme: a key of `SCHEMES`.

    Example:

    >>> tag_names(["PER", "LOC"], "IOB2")
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """
    letters = sorted(letters_of(scheme) - {"O"}, key="BILESU".index)
    return ("O", *(f"{letter}-{label}" for label in sorted(set(labels)) for letter in letters))


def allowed_transitions(tags, scheme):
    """Which tag may follow which, begin a sentence and end one.

    A sequence that keeps to all three is what `repair` leaves as it is.

    Args:
        tags: sequence of K tags, as `tag_names` gives them; tag k is that of id k.
        scheme: a key of `SCHEMES`.

    Returns:
        (transitions, start, end): bool arrays (K, K), from row to column, (K,) and (K,).

    Raises:
        As `spans` does.

    Example:

    >>> transitions, start, end = allowed_transitions(["O", "B-PER", "I-PER"], "IOB2")
    >>> transitions.astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [1, 1, 1]])
    >>> start, end
    (array([ True,  True, False]), array([ True,  True,  True]))
    """
    pairs = [("O", ""), *(_split(tag, scheme) for tag in tags)]
    allowed = np.array([[_may_follow(one, other, scheme) for other in pairs] for one in pairs])
    return allowed[1:, 1:], allowed[0, 1:], allowed[1:, 0]  # outside a sentence it is as after an O


def letters_of(scheme):
    """The letters that tags of a scheme may have, `O` among them; a frozenset."""
    if scheme not in SCHEMES:
        raise KerasZooError(f"expected a tag scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    return frozenset(SCHEMES[scheme] + ("OB" if scheme == "IOB1" else "O"))


@functools.lru_cache(4096)
def _split(tag, scheme):
    letter, label = split_tag(tag)
    if letter not in letters_of(scheme):
        known = ", ".join(sorted(letters_of(scheme)))
        raise DataError(f"expected a tag of {scheme}, with a letter of {known}, got {tag!r}")
    return letter, label


def _may_follow(one, other, scheme):
    (letter, label), (next_letter, next_label) = one, other
    first, inside, last, single = SCHEMES[scheme]
    if scheme == "IOB1":
        if next_letter == "B":
            return label == next_label
        letter = "I" if letter == "B" else letter
    if label and label == next_label and letter in (first, inside) and next_letter in (inside, last):
        return True
    return letter in ("O", last, single) and next_letter in ("O", first, single)

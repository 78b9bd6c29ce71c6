"""Tags of tokens and the spans they mark: IO, IOB1, IOB2, BIOES and BILOU.

A tag is `O`, or a letter, a hyphen and a label: `B-PER`, `I-creative-work`. The letter tells the position of
the token in a span of that label. The schemes differ in their letters:

    tokens   New    York   Mayor  Ed     Koch   Paris  Rome       Paris and Rome: two touching spans of one
    IO       I-LOC  I-LOC  O      I-PER  I-PER  I-LOC  I-LOC      label, which IO cannot separate
    IOB1     I-LOC  I-LOC  O      I-PER  I-PER  I-LOC  B-LOC      B only where spans of one label touch
    IOB2     B-LOC  I-LOC  O      B-PER  I-PER  B-LOC  B-LOC
    BIOES    B-LOC  E-LOC  O      B-PER  E-PER  S-LOC  S-LOC
    BILOU    B-LOC  L-LOC  O      B-PER  L-PER  U-LOC  U-LOC

Sequences that a scheme does not allow are read as by conlleval of the CoNLL-2003 task: a span begins at a
letter that begins one or where the label changes, and ends at a letter that ends one or where another span
or `O` begins.
"""

import functools
from collections import Counter
from typing import NamedTuple

import numpy as np

from keraszoo.errors import DataError, KerasZooError

# The letters of the first token of a span, those between, the last one, and of a span of one token.
SCHEMES = {"IO": "IIII", "IOB1": "IIII", "IOB2": "BIIB", "BIOES": "BIES", "BILOU": "BILU"}

BEGINS = frozenset("BSU")  # letters that always begin a span
ENDS = frozenset("ESLU")  # letters that always end a span


class Span(NamedTuple):
    """A span of tokens with a label, from `start` to `end` (exclusive)."""

    label: str
    start: int
    end: int


@functools.lru_cache(4096)
def split_tag(tag, scheme=None):
    """Splits a tag into letter and label; `O` gives `("O", "")`.

    Raises DataError unless it is a tag of `scheme`, or of any scheme if none is given.
    """
    letters = "BIESLU" if scheme is None else letters_of(scheme)
    if tag == "O":
        return "O", ""
    if len(tag) < 3 or tag[1] != "-" or tag[0] not in letters:
        wanted = "such as O, B-PER or I-PER" if scheme is None else f"of {scheme}, with a letter of {letters}"
        raise DataError(f"expected a tag {wanted}, got {tag!r:.60}")
    return tag[0], tag[2:]


def letters_of(scheme):
    """Returns the letters of a scheme, without `O`, in the order in which `tag_names` lists them."""
    if scheme not in SCHEMES:
        raise KerasZooError(f"expected a tag scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    used = SCHEMES[scheme] + "B" * (scheme == "IOB1")
    return "".join(letter for letter in "BILESU" if letter in used)


def detect_scheme(sequences):
    """Detects the scheme of sequences of tags.

    E or S mean BIOES, L or U mean BILOU, only I means IO. Between IOB1 and IOB2, the scheme with fewer
    violations wins: IOB2 has no I that begins a span, IOB1 has no B where no span of the same label precedes.
    Tags that are all `O` are IOB2.

    Args:
        sequences: an iterable of sequences of tags, one per sentence.

    Returns:
        A key of `SCHEMES`.

    Raises:
        DataError: a tag of no scheme, or letters of both BIOES and BILOU.

    Example:

    >>> detect_scheme([["I-PER", "B-PER", "O"]]), detect_scheme([["B-PER", "I-PER"], ["I-LOC"], ["B-LOC"]])
    ('IOB1', 'IOB2')
    """
    letters, first = Counter(), Counter()  # first: letters of tags after another label
    for tags in sequences:
        before = ""
        for letter, label in map(split_tag, tags):
            letters[letter] += 1
            first[letter] += label != before
            before = label
    bioes, bilou = letters["E"] + letters["S"], letters["L"] + letters["U"]
    if bioes and bilou:
        counts = ", ".join(f"{letters[letter]} {letter}" for letter in "ESLU")
        raise DataError(f"expected tags of one scheme, got letters of BIOES and of BILOU: {counts}")
    if bioes or bilou:
        return "BIOES" if bioes else "BILOU"
    if not letters["B"]:
        return "IO" if letters["I"] else "IOB2"
    return "IOB2" if first["I"] <= first["B"] else "IOB1"


def spans(tags, scheme):
    """Returns the spans that tags mark. Tags that the scheme does not allow are read as `repair` does.

    Args:
        tags: a sequence of tags.
        scheme: a key of `SCHEMES`.

    Returns:
        List of `Span`, in order and without overlap.

    Raises:
        DataError: a tag that is not one of the scheme.
        KerasZooError: an unknown scheme.

    Example:

    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], "IOB2")
    [Span(label='PER', start=0, end=2), Span(label='LOC', start=3, end=4)]
    """
    letters_of(scheme)  # also of no tags
    result, start, before, ended = [], 0, "", True
    for place, tag in enumerate([*tags, "O"]):
        letter, label = split_tag(tag, scheme)
        if ended or label != before or letter in BEGINS:
            if before:
                result.append(Span(before, start, place))
            start = place
        before, ended = label, letter in ENDS
    return result


def tags_of(spans, length, scheme):
    """Returns the tags of spans: the inverse of `spans`, except that IO joins touching spans of one label.

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
    """Converts tags of one scheme to another, a tuple; tags that `source` does not allow are repaired.

    Example:

    >>> convert(["I-PER", "I-PER", "B-PER"], "IOB1", "BILOU")
    ('B-PER', 'L-PER', 'U-PER')
    """
    return tags_of(spans(tags, source), len(tags), target)


def repair(tags, scheme):
    """Makes tags valid in their scheme; returns a tuple of tags, and the number of changed tags.

    Example:

    >>> repair(["O", "I-PER", "I-PER", "I-LOC"], "IOB2")
    (('O', 'B-PER', 'I-PER', 'B-LOC'), 2)
    """
    repaired = convert(tags, scheme, scheme)
    return repaired, sum(old != new for old, new in zip(tags, repaired, strict=True))


def tag_names(labels, scheme):
    """Returns all tags of labels in a scheme: `O` first, then label by label in alphabetical order.

    Example:

    >>> tag_names(["PER", "LOC"], "IOB2")
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """
    letters = letters_of(scheme)
    return ("O", *(f"{letter}-{label}" for label in sorted(set(labels)) for letter in letters))


def allowed_transitions(tags, scheme):
    """Returns which tag may follow which, begin a sentence and end one.

    These rules hold exactly for the sequences that `repair` does not change.

    Args:
        tags: sequence of K tags, as `tag_names` gives them.
        scheme: a key of `SCHEMES`.

    Returns:
        (transitions, start, end): bool arrays (K, K), from row to column, (K,) and (K,).

    Example:

    >>> transitions, start, end = allowed_transitions(["O", "B-PER", "I-PER"], "IOB2")
    >>> transitions.astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [1, 1, 1]])
    >>> start, end
    (array([ True,  True, False]), array([ True,  True,  True]))
    """
    letters, labels = map(np.array, zip(("O", ""), *(split_tag(tag, scheme) for tag in tags), strict=True))
    first, inside, last, single = SCHEMES[scheme]
    same = labels[:, None] == labels
    before = np.where(letters == "B", "I", letters) if scheme == "IOB1" else letters
    goes_on = same & np.isin(before, [first, inside])[:, None] & np.isin(letters, [inside, last])
    allowed = goes_on | (
        np.isin(before, ["O", last, single])[:, None] & np.isin(letters, ["O", first, single])
    )
    if scheme == "IOB1":
        allowed = np.where(letters == "B", same, allowed)
    return allowed[1:, 1:], allowed[0, 1:], allowed[1:, 0]  # the ends of a sentence act as O

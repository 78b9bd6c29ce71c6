"""Reads, cleans and splits parallel text: pairs of a sentence and its translation."""

import hashlib
import itertools
import re
import unicodedata
from collections import Counter

from keraszoo.errors import DataError, KerasZooError
from keraszoo.messages import shown
from keraszoo.text.characters import inside, plain_form
from keraszoo.text.lines import read_lines, read_rows

APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
# Vowel signs and tones are marks, the category M.
NO_WORD = re.compile(f"(?:[{inside('L M N', others=True)}][{inside('M')}]*)+")


def read_pairs(source, target=None):
    r"""Reads pairs of sentences one by one, from two files or from one.

    Args:
        source: the file of the source sentences; or, without `target`, a file of lines `source TAB target`
            whose further columns are ignored. Files are read as `read_lines` and `read_rows` do.
        target: the file of the target sentences, line by line the translations.

    Returns:
        An iterator of (source, target) strings. A blank line gives a blank side; `ParallelCorpus` drops and
        counts such pairs.

    Raises:
        DataError: while reading: as `read_lines` does; unequal numbers of lines (both are given); both
            sides from standard input; a line that is not blank and has no TAB; an empty corpus.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.tsv")
    >>> _ = file.write_text("A dog.\tEin Hund.\tCC BY\nA cat.\tEine Katze.\n")
    >>> list(read_pairs(file))
    [('A dog.', 'Ein Hund.'), ('A cat.', 'Eine Katze.')]
    """
    empty = True
    for pair in _columns(source) if target is None else _side_by_side(source, target):
        empty = False
        yield pair
    if empty:
        raise DataError("an empty corpus: expected at least one line", source)


def _columns(path):
    for number, line in enumerate(read_rows(path), start=1):
        sides = line.split("\t", 2)[:2]
        if len(sides) == 2:
            yield tuple(sides)
        elif line.strip():
            message = f"expected source TAB target, got a line with no TAB: {line[:40]!r}"
            raise DataError(message, path, number)
        else:
            yield "", ""


def _side_by_side(source, target):
    if str(source) == str(target) == "-":
        raise DataError("expected one side from standard input, the other from a file; got both", source)
    sides = [read_lines(source), read_lines(target)]
    for number, lines in enumerate(itertools.zip_longest(*sides), start=1):
        if None in lines:
            count = number + sum(1 for side in sides for _ in side)
            longer, shorter = (source, target) if lines[1] is None else (target, source)
            counts = f"{longer} has {count}, {shorter} has {number - 1}"
            raise DataError(f"unequal numbers of lines: {counts}", longer, number)
        yield lines


def clean_text(text):
    """Unifies the spelling of a text: composed letters, plain spaces and apostrophes, nothing invisible.

    Everything else stays as it is, including quotation marks, which differ between languages, and joiners
    that a script needs.

    >>> clean_text("\u00a0L\u2019e\u0301te\u0301\u202f! ")
    "L'été !"
    """
    text = unicodedata.normalize("NFC", plain_form(text.replace("\u200b", ""))).translate(APOSTROPHES)
    return re.sub(r"\s+", " ", text).strip()


def words_of(text):
    """Returns a sentence without case and punctuation, to find near duplicates.

    >>> words_of("It's late!") == words_of("it's  late")
    True
    """
    return NO_WORD.sub(" ", text.casefold()).strip() or text


def clean_pairs(pairs):
    """Cleans both sides of each pair and drops blank and duplicate pairs.

    Args:
        pairs: an iterable of (source, target) strings.

    Returns:
        `(kept, counts)`: a list of pairs in their old order, and a `Counter` of `"pairs"` read, pairs
        `"changed"` by `clean_text`, and dropped pairs: `"blank"` on a side, `"duplicate"`, and
        `"near_duplicate"`, which differs from an earlier pair only in case and punctuation. Questions are
        distinct: "Go!" after "Go." is dropped, "Tom?" after "Tom." is kept.

    Example:

    >>> kept, counts = clean_pairs([("Go.", "Geh."), ("Go\u00a0.", "Geh!"), ("Go?", "Geh?"), ("", "Geh!")])
    >>> kept, counts["changed"], counts["near_duplicate"], counts["blank"]
    ([('Go.', 'Geh.'), ('Go?', 'Geh?')], 1, 1, 1)
    """
    kept, near, counts = {}, set(), Counter()
    for pair in pairs:
        if isinstance(pair, str):
            raise DataError(f"expected pairs of str, got {shown(pair)}; `read_pairs` reads a file")
        clean = tuple(map(clean_text, pair))
        key = tuple((words_of(side), side.endswith("?")) for side in clean)
        counts["pairs"] += 1
        counts["changed"] += clean != tuple(pair)
        if not all(clean):
            counts["blank"] += 1
        elif clean in kept:
            counts["duplicate"] += 1
        elif key in near:
            counts["near_duplicate"] += 1
        else:
            near.add(key)
            kept[clean] = True
    return list(kept), counts


def split_pairs(pairs, *sizes):
    """Splits pairs by source sentence: all translations of a sentence are in the same part.

    Sentences that differ only in case and punctuation count as one. The hash of a sentence decides its part,
    so the split does not depend on the order of the pairs, and little on the other sentences.

    Args:
        pairs: an iterable of (source, target) strings.
        sizes: the number of source sentences in each held-out part.

    Returns:
        A list of lists of pairs in their old order: the held-out parts in the order of `sizes`, then the
        rest.

    Raises:
        KerasZooError: there are not enough source sentences.

    Example:

    >>> pairs = [("Go.", "Geh."), ("Come.", "Komm."), ("Go!", "Los!"), ("Stay.", "Bleib.")]
    >>> test, train = split_pairs(pairs, 1)
    >>> len(test) + len(train), {words_of(a) for a, _ in test} & {words_of(a) for a, _ in train}
    (4, set())
    """
    pairs = list(pairs)
    sentences = {words_of(source) for source, _ in pairs}
    sentences = sorted(sentences, key=lambda text: hashlib.sha256(text.encode("utf-8")).digest())
    if len(sentences) <= sum(sizes):
        raise KerasZooError(f"cannot hold out {sum(sizes)} of {len(sentences)} source sentences")
    numbers = itertools.chain.from_iterable([part] * size for part, size in enumerate(sizes))
    part_of = dict(zip(sentences, numbers, strict=False))
    parts = [[] for _ in range(len(sizes) + 1)]
    for pair in pairs:
        parts[part_of.get(words_of(pair[0]), -1)].append(pair)
    return parts

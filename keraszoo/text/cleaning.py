"""Making a corpus fit to learn from: one writing of each sign, no pair twice, and a split."""

import hashlib
import re
import unicodedata
from collections import Counter

SPACES = re.compile(r"\s+")  # of Unicode: no-break, narrow and thin spaces, too
INVISIBLE = dict.fromkeys(
    map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff")
)  # soft hyphens, joiners and the like
APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'"})
NO_WORD = re.compile(r"[\W_]+")


def clean_text(text):
    """One way of writing what looks alike: composed letters, plain spaces and apostrophes, nothing invisible.

    Everything else stays as it is, quotation marks too: they belong to a language.

    Example:

    >>> clean_text("\u00a0L\u2019e\u0301te\u0301\u202f! ")
    "L'été !"
    """
    text = unicodedata.normalize("NFC", text.translate(INVISIBLE)).translate(APOSTROPHES)
    return SPACES.sub(" ", text).strip()


def words_of(text):
    """What of a sentence is left without case and punctuation; two with the same are nearly the same.

    >>> words_of("It's late!") == words_of("it's  late")
    True
    """
    return NO_WORD.sub(" ", text.casefold()).strip() or text


def clean_pairs(pairs):
    """Cleans both sides of each pair and drops the pairs that say nothing new.

    Args:
        pairs: an iterable of (source, target) strings.

    Returns:
        `(kept, counts)`: a list of pairs in their old order, and a `Counter` of `"pairs"` read, `"changed"`
        by `clean_text`, and dropped ones: `"blank"` on a side; `"duplicate"` of an earlier pair; and
        `"near_duplicate"`, the same but for case and punctuation, questions aside: "Go!" after "Go.", but not
        "Tom?" after "Tom.".

    Example:

    >>> kept, counts = clean_pairs([("Go.", "Geh."), ("Go\u00a0.", "Geh!"), ("Go?", "Geh?"), ("", "Geh!")])
    >>> kept, counts["changed"], counts["near_duplicate"], counts["blank"]
    ([('Go.', 'Geh.'), ('Go?', 'Geh?')], 1, 1, 1)
    """
    kept, exact, near, counts = [], set(), set(), Counter()
    for pair in pairs:
        counts["pairs"] += 1
        clean = tuple(map(clean_text, pair))
        counts["changed"] += clean != tuple(pair)
        key = tuple((words_of(side), side.endswith("?")) for side in clean)
        if not all(clean):
            counts["blank"] += 1
        elif clean in exact:
            counts["duplicate"] += 1
        elif key in near:
            counts["near_duplicate"] += 1
        else:
            exact.add(clean)
            near.add(key)
            kept.append(clean)
    return kept, counts


def split_pairs(pairs, *sizes):
    """Splits pairs by their source sentence: all translations of a sentence stand in the same part.

    Sentences that differ in case and punctuation alone count as one. Which part a sentence comes to is
    decided by its hash: it does not depend on the order of the pairs, and little on what else is in the
    corpus.

    Args:
        pairs: a list of (source, target) strings.
        sizes: how many source sentences the held-out parts have.

    Returns:
        A list of parts, each a list of pairs in their old order: the held-out ones, in the order of `sizes`,
        and last the rest.

    Raises:
        ValueError: if there are no more source sentences than are to be held out.

    Example:

    >>> pairs = [("Go.", "Geh."), ("Come.", "Komm."), ("Go!", "Los!"), ("Stay.", "Bleib.")]
    >>> test, train = split_pairs(pairs, 1)
    >>> len(test) + len(train), {words_of(a) for a, _ in test} & {words_of(a) for a, _ in train}
    (4, set())
    """
    sentences = sorted({words_of(source) for source, _ in pairs}, key=_hash)
    if len(sentences) <= sum(sizes):
        raise ValueError(f"{len(sentences)} source sentences, of which {sum(sizes)} are to be held out")
    part_of, start = {}, 0
    for part, size in enumerate(sizes):
        part_of.update(dict.fromkeys(sentences[start : start + size], part))
        start += size
    parts = [[] for _ in range(len(sizes) + 1)]
    for pair in pairs:
        parts[part_of.get(words_of(pair[0]), len(sizes))].append(pair)
    return parts


def one_of_each(pairs):
    """One pair of each source sentence (as `split_pairs` counts them), drawn by hash.

    >>> len(one_of_each([("Go.", "Geh."), ("Go!", "Los!"), ("Stay.", "Bleib.")]))
    2
    """
    drawn = {}
    for pair in pairs:
        key = words_of(pair[0])
        if key not in drawn or _hash("\t".join(pair)) < _hash("\t".join(drawn[key])):
            drawn[key] = pair
    return list(drawn.values())


def _hash(text):
    return hashlib.sha256(text.encode("utf-8")).digest()

"""Warnings about texts that a model may translate in part only, or not at all."""

import contextlib
import contextvars
import warnings

from keraszoo.errors import LostAddresses, NoWords, SeveralSentences, UnknownCharacters
from keraszoo.text.parallel import clean_text
from keraszoo.text.tokens import LONGEST_TEXT, addresses, split_sentences

_single = contextvars.ContextVar("single", default=False)  # per thread, unlike filters of warnings


@contextlib.contextmanager
def single_sentences():
    """Inside, no text counts as several sentences: a document has been split."""
    token = _single.set(True)
    try:
        yield
    finally:
        _single.reset(token)


def warn_of_unknown(texts, rows, subwords):
    """Warns if texts, with these rows of ids, have characters that a vocabulary does not have."""
    strange = [text for text, row in zip(texts, rows, strict=True) if subwords.unknown_id in row]
    if strange:
        warnings.warn(
            f"{len(strange)} of {len(texts)} texts have characters that the vocabulary does not have, which "
            f"are not translated: {', '.join(map(repr, subwords.unknown(strange[0])[:5]))} in the first, "
            f"{strange[0].strip()[:40]!r}",
            UnknownCharacters,
            stacklevel=5,
        )


def warn_of_sentences(texts):
    """Warns if some texts look like several sentences, of which a model may leave out some, or like none."""
    several = [text for text in texts if not _single.get() and _sentences(text[:LONGEST_TEXT]) > 1]
    if several:
        warnings.warn(
            f"{len(several)} of {len(texts)} texts look like several sentences, of which a model may leave "
            f"out some; `translate_document` (--document) splits them. The first: "
            f"{several[0].strip()[:40]!r}",
            SeveralSentences,
            stacklevel=4,
        )
    marks = [text for text in texts if not any(map(str.isalnum, text)) and clean_text(text)]
    if marks:
        warnings.warn(
            f"{len(marks)} of {len(texts)} texts have no letter and no digit, and a model may invent words "
            f"for them. The first: {marks[0].strip()[:40]!r}",
            NoWords,
            stacklevel=4,
        )


def lost_addresses(text, translation):
    """The addresses of a text that its translation does not have."""
    return [address for address in addresses(text) if address not in translation]


def warn_of_addresses(texts, translations):
    """Warns if some texts have addresses that their translations do not have."""
    lost = list(filter(None, map(lost_addresses, texts, translations)))
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(texts)} texts have an address that is not in the translation. The first: "
            f"{lost[0][0][:40]!r}",
            LostAddresses,
            stacklevel=4,
        )


def _sentences(text):
    """The number of sentences with a letter; one that ends with a number, as in "3. Mai", goes on."""
    sentences = [one for one in split_sentences(text) if any(map(str.isalpha, one.text))]
    return len(sentences) - sum(sentence.text[-2:-1].isdigit() for sentence in sentences[:-1])

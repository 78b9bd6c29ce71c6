"""Texts of several sentences: what a translator of sentences gets of them, and how they are put back."""

import re

from keraszoo.errors import KerasZooError
from keraszoo.text.tokens import split_sentences

TAG = re.compile(r"<[A-Za-z/!?][^>]*>|&(?:[A-Za-z]+|#\w+);")


def split(text, markup):
    """Splits a text into sentences.

    Args:
        text: str. Each line is split by itself; a sentence without letters and digits is not translated.
        markup: `"text"` or `"html"`.

    Returns:
        List of the N sentences, and a list of N + 1 str, what is before, between and after them.

    Raises:
        KerasZooError: `markup` is html, and the text has a tag or an entity.

    Example:

    >>> split("Hello!  How are you?\\n---\\n Well.\\n", "text")
    (['Hello!', 'How are you?', 'Well.'], ['', '  ', '\\n---\\n ', '\\n'])
    """
    if markup == "html" and (tag := TAG.search(text)):
        raise KerasZooError(f"q: format html is not supported for text with markup, got {tag[0]!r:.40}")
    sentences, gaps, end = [], [], 0
    for line in re.finditer("[^\n]+", text):
        for sentence in split_sentences(line[0]):
            if any(map(str.isalnum, sentence.text)):
                gaps.append(text[end : line.start() + sentence.start])
                sentences.append(sentence.text)
                end = line.start() + sentence.end
    return sentences, [*gaps, text[end:]]


def versions(found, gaps):
    """The translations of a text, the best first: the reverse of `split`.

    Args:
        found: the translations of each of the N sentences, the best first: a list of lists of str. Version k
            has the translation k of each sentence, or its last.
        gaps: list of N + 1 str.

    Returns:
        List of str without repeated ones; at least one.

    Example:

    >>> versions([["Hallo!", "Hi!"], ["Ja?"]], ["- ", " ", "\\n"])
    ['- Hallo! Ja?\\n', '- Hi! Ja?\\n']
    """
    joined = {}
    for k in range(max(map(len, found), default=1)):
        texts = [some[min(k, len(some) - 1)] for some in found]
        joined[gaps[0] + "".join(map("".join, zip(texts, gaps[1:], strict=True)))] = None
    return list(joined)

"""Texts of several sentences: what a translator of sentences gets of them, and how they are put back."""

import re

from keraszoo.text.sentence_ends import sentence_spans


def split(text, language):
    """Splits a text into sentences.

    Args:
        text: str. Each line is split by itself; a sentence without letters and digits is not translated.
        language: the code of its language.

    Returns:
        List of the N sentences, and a list of N + 1 str, what is before, between and after them.

    Example:

    >>> split("Hello!  How are you?\\n---\\n Well.\\n", "en")
    (['Hello!', 'How are you?', 'Well.'], ['', '  ', '\\n---\\n ', '\\n'])
    """
    sentences, gaps, end = [], [], 0
    for line in re.finditer("[^\n]+", text):
        for first, last in sentence_spans(line[0], language):
            if any(map(str.isalnum, line[0][first:last])):
                gaps.append(text[end : line.start() + first])
                sentences.append(line[0][first:last])
                end = line.start() + last
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

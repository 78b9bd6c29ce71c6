"""Where the sentences of a text end, for hundreds of languages, by Wikimedia's sentencex."""

import re

from keraszoo.errors import KerasZooError

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
# What the splitter reads as a blank. It fails at line separators after an initial.
_BLANKS = {code: " " for code in range(0x10000) if chr(code).isspace()}
_BLANKS |= {code: "?" for code in range(0xD800, 0xE000)}  # it takes valid Unicode only


def sentence_spans(text, language="en"):
    """Splits a text into sentences.

    A blank line does not end a sentence: split a document into paragraphs first
    (`keraszoo.text.blocks.blocks_of`).

    Args:
        text: str.
        language: the code of its language, such as `"en"`; `sentencex` has abbreviations for some, and
            splits others like a related language or like English.

    Returns:
        List of (start, end), without blanks at the ends; every other character is in one of them.

    Raises:
        KerasZooError: `language` is not a code.

    Example:

    >>> text = 'Dr. Lee paid $3.50. "Why?" he asked. Nobody knew!'
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Lee paid $3.50.', '"Why?" he asked.', 'Nobody knew!']
    """
    check_language(language)
    import sentencex

    spans, end = [], 0
    for sentence in sentencex.segment(language.lower().partition("-")[0], text.translate(_BLANKS)):
        start, end = end, end + len(sentence)
        inside = sentence.strip()
        if inside:
            first = start + len(sentence) - len(sentence.lstrip())
            spans.append((first, first + len(inside)))
    return spans


def check_language(language):
    """Raises KerasZooError unless `language` looks like the code of one."""
    if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
        raise KerasZooError(f"language: expected a code such as en or de, got {language!r:.40}")

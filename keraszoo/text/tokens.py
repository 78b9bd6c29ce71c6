"""Tokens and sentences of raw text with their places, by regular expressions that a SavedModel can run too.

The expressions keep to what RE2, the engine inside TensorFlow, and the `regex` package understand alike: no
looking ahead or back, no word bounds, characters by their Unicode category. Where Python goes from match to
match, `tensorflow_text.regex_split_with_offsets` does the same in a graph:

    tokens     split by `BLANKS + "|" + rules.match`, keeping what matches `KEEP`; then, if there is a
               `rules.part`, each of these split by it, keeping all
    sentences  split by `BLANKS + "|" + SENTENCE`, keeping what matches `KEEP`

Every character but blanks is in exactly one token and in one sentence, and both are the text between their
two places: `text[start:end] == token`, whatever the text is made of.
"""

import functools
from collections import Counter
from typing import NamedTuple

from keraszoo.errors import KerasZooError

# What stands inside a class of characters. Zero-width spaces and byte order marks separate as blanks do.
_BLANK = "\\p{Z}\\p{Cc}\u200b\ufeff"
_INLINE = "\\p{Z}\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\u200b\ufeff"  # all of them but a line feed
_CLOSING = "\\p{Pe}\\p{Pf}\"'"
_ENDING = ".!?\u2026\u3002\uff01\uff1f"
_PICTURES = "\\p{So}\U0001f000-\U0001faff"  # with room for emoji that an engine does not know yet

# Letters, marks, digits, underscores: by what they are not, so that a letter no engine knows yet is one too.
_WORD = f"[^{_BLANK}{_PICTURES}\\p{{Pd}}\\p{{Ps}}\\p{{Pe}}\\p{{Pi}}\\p{{Pf}}\\p{{Po}}\\p{{S}}]"
_APOSTROPHE = "['\u2019]"

# At the end stands no full stop, nor what closes; but tweets cut addresses off with "…".
_URL = f"(?i:https?://|www\\.)[^{_BLANK}<>]*(?:[^{_BLANK}{_CLOSING}<>\\p{{Po}}]/?|\u2026)"
# Repetitions have limits where a long text without blanks would be read anew from every token on.
_MAIL = r"[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_DOMAIN = (
    r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+){0,8}\.(?:com|org|net|edu|gov)(?:/[A-Za-z0-9_./-]*[A-Za-z0-9_/-])?"
)
_TITLE = "(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|Rev|Hon|vs)\\."
_DOTTED = f"(?:\\p{{L}}\\.)+(?:\\p{{L}}\\.|{_WORD}+)"  # U.S., e.g., J.Smith
_INITIAL = "[A-HJ-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]\\."  # but for I, which ends sentences
_NUMBER = f"\\p{{N}}+(?:[.,:/]\\p{{N}}+)+{_WORD}*(?:-{_WORD}+)*"
_JOINED = f"{_APOSTROPHE}?{_WORD}+(?:[-\u2010\u2011'\u2019&\u00b7]{_WORD}+)*"
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}|"  # a flag is two letters
    f"[{_PICTURES}](?:[\\p{{M}}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[{_PICTURES}])*"
)
_MARK = f"[^{_BLANK}]\\p{{M}}*"
_CONTRACTION = f"(?i:n{_APOSTROPHE}t|{_APOSTROPHE}(?:s|m|d|re|ve|ll))$|^{_APOSTROPHE}"

BLANKS = f"[{_BLANK}]+"
KEEP = f"(?s)[^{_BLANK}].*"


class TokenRules(NamedTuple):
    """How a text falls into tokens: `match` finds them; `part`, if not blank, cuts off parts of those."""

    match: str
    part: str = ""


def _either(*expressions):
    return "|".join(expressions)


# From coarse to fine.
TOKEN_RULES = {
    "words": TokenRules(
        _either(
            _URL,
            _MAIL,
            _DOMAIN,
            f"[@#]{_WORD}+",
            "&(?:[A-Za-z]+|#[0-9]+);",
            _TITLE,
            r"(?:Jr|Sr|etc)\.",
            _DOTTED,
            _INITIAL,
            _NUMBER,
            _JOINED,
            _EMOJI,
            r"[:;=]-?[()]+|<3",
            r"\.{2,}|-{2,}|\*{2,}|[!?]{2,}|''|``",
            _MARK,
        ),
        _CONTRACTION,
    ),
    "marks_apart": TokenRules(
        _either(_URL, _MAIL, _DOMAIN, _DOTTED, _NUMBER, _JOINED, _EMOJI, _MARK), _CONTRACTION
    ),
    "alphanumeric": TokenRules(_either(f"{_WORD}+", _EMOJI, _MARK)),
}

_GAP = f"[{_INLINE}]*(?:\\n[{_INLINE}]*)?"  # a blank line is none: it ends a sentence
_SOME_GAP = f"(?:[{_INLINE}]+(?:\\n[{_INLINE}]*)?|\\n[{_INLINE}]*)"
_END = f"[{_ENDING}][{_ENDING}{_CLOSING}]*"
_INSIDE = _either(
    _TITLE,
    r"(?:e\.g|i\.e|cf|al|approx|Figs?)\.",
    f"Nos?\\.{_GAP}\\p{{N}}",
    _DOTTED,
    _INITIAL,
    f"{_END}{_SOME_GAP}\\p{{Ll}}",
    f"{_END}[^{_BLANK}{_CLOSING}{_ENDING}]",
    f"{_WORD}+",
    f"[^{_BLANK}{_ENDING}]",
)
SENTENCE = f"(?:{_INSIDE})(?:{_GAP}(?:{_INSIDE}))*(?:{_GAP}{_END})?|{_END}"


class Token(NamedTuple):
    """A token and its place: `text` is what stands from character `start` to `end`, the end exclusive."""

    text: str
    start: int
    end: int


class Sentence(NamedTuple):
    """A sentence and its place: `text` is what stands from character `start` to `end`, the end exclusive."""

    text: str
    start: int
    end: int


def tokenize(text, rules="words"):
    """Cuts a text into tokens.

    The rules differ in what they keep together; a tagger wants those of the corpus it learnt from:

        words         as CoNLL-2003 and its like: words with hyphens and apostrophes inside, numbers, URLs,
                      @handles, #hashtags, U.S. and Dr. with their periods, "..." and "!!"; n't and 's apart
        marks_apart   the same, but every mark for itself: `@`, `#`, `!` `!`, the period of Dr.
        alphanumeric  runs of letters and digits, everything else character by character, as in corpora of
                      biomedical text: `IL`, `-`, `2`

    Blanks, which separate, are also no-break and zero-width spaces and control characters. Combining marks,
    joiners and skin tones stay with what they belong to.

    Args:
        text: str.
        rules: a key of `TOKEN_RULES`.

    Returns:
        List of `Token`, in order; empty for a text of blanks.

    Raises:
        KerasZooError: unknown rules, or `text` is no string.

    Example:

    >>> [token.text for token in tokenize("Dr. O'Neil's e-mail didn't reach @who (in the U.S.)...")]
    ['Dr.', "O'Neil", "'s", 'e-mail', 'did', "n't", 'reach', '@who', '(', 'in', 'the', 'U.S.', ')', '...']
    >>> tokenize("IL-2", rules="alphanumeric")
    [Token(text='IL', start=0, end=2), Token(text='-', start=2, end=3), Token(text='2', start=3, end=4)]
    """
    check_rules(rules)
    tokens = []
    # No expression goes over a blank, so that what stands between blanks is cut alike wherever it stands.
    for chunk in compile_expression(f"[^{_BLANK}]+").finditer(_checked(text)):
        start = chunk.start()
        tokens += [Token(part, start + first, start + last) for part, first, last in _cut(chunk[0], rules)]
    return tokens


def split_sentences(text):
    """Cuts a text into sentences.

    A sentence ends with `.`, `!`, `?` or their like and what closes after them, if blanks follow and then no
    small letter; and at a blank line. Titles (Dr.), initials (J. S. Bach) and abbreviations such as U.S. and
    e.g. end none.

    Args:
        text: str.

    Returns:
        List of `Sentence`, in order, without blanks at their ends; empty for a text of blanks.

    Raises:
        KerasZooError: `text` is no string.

    Example:

    >>> [sentence.text for sentence in split_sentences('Dr. No paid $3.50. "Why?" he asked. Nobody knew!')]
    ['Dr. No paid $3.50.', '"Why?" he asked.', 'Nobody knew!']
    """
    return [
        Sentence(found[0], *found.span()) for found in compile_expression(SENTENCE).finditer(_checked(text))
    ]


def fitting_rules(sentences):
    """The rules that cut raw text as a corpus is cut.

    They are the finest of those that keep its tokens whole. That a corpus has `@` and `#` for themselves
    shows that it cuts them off names: nobody writes a blank behind them.

    Args:
        sentences: iterable of sentences, each a sequence of tokens.

    Returns:
        A key of `TOKEN_RULES`: the last of those that are right about as many tokens as any other, or fail
        0.1 % more of them at most.

    Example:

    >>> fitting_rules([["Selegiline", "-", "induced"]]), fitting_rules([["techno-based"]])
    ('alphanumeric', 'marks_apart')
    """
    counts = Counter(token for tokens in sentences for token in tokens)
    right = {name: sum(counts[token] for token in counts if _is_cut_so(token, name)) for name in TOKEN_RULES}
    enough = max(right.values()) - 0.001 * counts.total()
    return [name for name in TOKEN_RULES if right[name] >= enough][-1]


def _is_cut_so(token, rules):
    if token in ("@", "#"):
        return len(tokenize(token + "name", rules)) == 2
    return len(tokenize(token, rules)) == 1


@functools.lru_cache(1 << 16)
def _cut(chunk, rules):
    """The tokens of a text without blanks."""
    match, part = TOKEN_RULES[rules]
    places = [found.span() for found in compile_expression(match).finditer(chunk)]
    if part and ("'" in chunk or "\u2019" in chunk):
        places = [
            (start + first, start + last)
            for start, end in places
            for first, last in _pieces(chunk[start:end], compile_expression(part))
        ]
    return tuple(Token(chunk[start:end], start, end) for start, end in places)


def _pieces(token, part):
    """Where the pieces of a token lie: those that `part` finds, and what stands between them."""
    done = 0
    for found in part.finditer(token):
        if done < found.start():
            yield done, found.start()
        yield found.span()
        done = found.end()
    if done < len(token):
        yield done, len(token)


def _checked(text):
    if not isinstance(text, str):
        raise KerasZooError(f"expected a text, a string, got {type(text).__name__}")
    return text


def check_rules(rules):
    """Returns the name of rules as it is if there are such, and raises a `KerasZooError` otherwise."""
    if rules not in TOKEN_RULES:
        raise KerasZooError(f"expected token rules of {', '.join(TOKEN_RULES)}, got {rules!r}")
    return rules


@functools.cache
def compile_expression(expression):
    """An expression of this file for Python, by the `regex` package: `re` knows no Unicode categories."""
    try:
        import regex
    except ImportError as error:
        raise KerasZooError("tokens need the library regex: pip install regex") from error
    return regex.compile(expression)

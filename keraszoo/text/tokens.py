"""Splits raw text into tokens and sentences, with regular expressions that also run in a SavedModel.

The expressions mean the same to RE2, the engine inside TensorFlow, and to `re`: no lookaround, no word
boundaries, classes of characters from one table (`keraszoo.text.characters`). In a graph,
`tensorflow_text.regex_split_with_offsets` does what Python does here:

    sentences  split by `SENTENCE + "|" + BLANKS`, keep what matches `KEEP`
    tokens     split by `rules.match + "|" + GAPS`, keep what matches `KEEP`; if there is a `rules.part`,
               split each token by it and keep everything

Every character except blanks is in exactly one sentence, and every character that is visible in exactly one
token; `text[start:end] == token` holds for any text.
"""

import functools
import re
from collections import Counter
from typing import NamedTuple

from keraszoo.errors import KerasZooError
from keraszoo.text.characters import INVISIBLE, JOINERS, inside

LONGEST_CACHED = 100  # characters of a text without blanks

# The inside of character classes. Zero-width spaces count as blanks.
_BLANK = inside("Z Cc", "\u200b")
_INLINE = inside("Z", "\\x00-\\x09\\x0b-\\x1f\\x7f-\x9f\u200b")  # all of them except a line feed
_UNSEEN = f"{INVISIBLE}{JOINERS}"  # inside of words only
_CLOSING = inside("Pe Pf", f"\"'{INVISIBLE}")
_ENDING = ".!?\u2026\u3002\uff01\uff1f"
_PICTURES = inside("So", "\U0001f000-\U0001faff")  # includes emoji of later Unicode versions
_LETTER, _MARKS, _DIGIT, _OTHER_MARKS = inside("L"), inside("M"), inside("N"), inside("Po")

# Letters, marks, digits and underscores, by exclusion: includes letters of later Unicode versions.
_LETTERS = inside("Z Cc P S", f"\u200b{_PICTURES}{_UNSEEN}", others=True)
_WORD = f"[{_LETTERS}]+(?:[{_UNSEEN}]+[{_LETTERS}]+)*[{JOINERS}]*"
_APOSTROPHE = "['\u2019]"

# An address does not end with a full stop or closing mark, but tweets cut addresses off with "…".
_URL = f"(?i:https?://|www\\.)[^{_BLANK}<>]*(?:[^{_BLANK}{_CLOSING}<>{_OTHER_MARKS}]/?|\u2026)"
# Repetitions are limited where a long text without blanks would otherwise take quadratic time.
_MAIL = r"[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_DOMAIN = (
    r"[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+){0,8}\.(?:com|org|net|edu|gov)(?:/[A-Za-z0-9_./-]*[A-Za-z0-9_/-])?"
)
# To search with, in linear time; not for RE2.
ADDRESS = f"{_URL}|(?<![A-Za-z0-9_.+-]){_MAIL}|(?<![A-Za-z0-9]){_DOMAIN}"
_TITLE = "(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|Rev|Hon|vs)\\."
_DOTTED = f"(?:[{_LETTER}]\\.)+(?:[{_LETTER}]\\.|{_WORD})"  # U.S., e.g., J.Smith
_INITIAL = "[A-HJ-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]\\."  # except I, which ends sentences
_NUMBER = f"[{_DIGIT}]+(?:[.,:/][{_DIGIT}]+)+(?:{_WORD})?(?:-{_WORD})*"
_JOINED = f"{_APOSTROPHE}?{_WORD}(?:[-\u2010\u2011'\u2019&\u00b7]{_WORD})*"
_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}|"  # a flag is two letters
    f"[{_PICTURES}](?:[{_MARKS}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[{_PICTURES}])*"
)
_MARK = f"[^{_BLANK}{_UNSEEN}][{_MARKS}]*"
_CONTRACTION = f"(?i:n{_APOSTROPHE}t|{_APOSTROPHE}(?:s|m|d|re|ve|ll))$|^{_APOSTROPHE}"

BLANKS = f"[{_BLANK}]+"
GAPS = f"[{_BLANK}{_UNSEEN}]+"
KEEP = f"(?s).*[^{_BLANK}{_UNSEEN}].*"


LONGEST_SENTENCE = 512  # tokens; `sentence_tokens` cuts longer ones
LONGEST_TEXT = 1 << 20  # characters


class TokenRules(NamedTuple):
    """Expressions of a tokenizer: `match` finds tokens; `part`, if not empty, splits them further."""

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
            f"[@#]{_WORD}",
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
    "alphanumeric": TokenRules(_either(_WORD, _EMOJI, _MARK)),
}

_GAP = f"[{_INLINE}]*(?:\\n[{_INLINE}]*)?"  # a blank line is not a gap: it ends a sentence
_SOME_GAP = f"(?:[{_INLINE}]+(?:\\n[{_INLINE}]*)?|\\n[{_INLINE}]*)"
_END = f"[{_ENDING}][{_ENDING}{_CLOSING}]*"
_INSIDE = _either(
    _TITLE,
    r"(?:e\.g|i\.e|cf|al|approx|Figs?)\.",
    f"Nos?\\.{_GAP}[{_DIGIT}]",
    _DOTTED,
    _INITIAL,
    f"{_END}{_SOME_GAP}[{inside('Ll')}]",
    f"[.!?\u2026][.!?\u2026{_CLOSING}]*[^{_BLANK}{_CLOSING}{_ENDING}]",  # after "。", no blank follows
    f"[{_LETTERS}]+",
    f"[^{_BLANK}{_ENDING}]",
)
SENTENCE = f"(?:{_INSIDE})(?:{_GAP}(?:{_INSIDE}))*(?:{_GAP}{_END})?|{_END}"


class Token(NamedTuple):
    """A token or a sentence: `text` is the part of the text from character `start` to `end` (exclusive)."""

    text: str
    start: int
    end: int


def tokenize(text, rules="words"):
    """Splits a text into tokens.

    A tagger uses the rules that fit its training corpus:

        words         as CoNLL-2003 and similar corpora: keeps hyphens and apostrophes inside words, numbers,
                      URLs, @handles, #hashtags, U.S. and Dr. with their periods, "..." and "!!"; splits n't
                      and 's off
        marks_apart   the same, but every mark is a token: `@`, `#`, `!` `!`, the period of Dr.
        alphanumeric  runs of letters and digits, and every other character by itself, as corpora of
                      biomedical text: `IL`, `-`, `2`

    Blanks separate tokens, including no-break spaces, zero-width spaces and control characters. Combining
    marks, joiners and skin tones stay with their base character. Invisible characters, such as soft hyphens
    and marks of direction, are part of a token inside of a word only.

    Args:
        text: str of at most `LONGEST_TEXT` characters.
        rules: a key of `TOKEN_RULES`.

    Returns:
        List of `Token`; empty for a blank text.

    Raises:
        KerasZooError: unknown rules, or `text` is not a string, or too long.

    Example:

    >>> [token.text for token in tokenize("Dr. O'Neil's e-mail didn't reach @who (in the U.S.)...")]
    ['Dr.', "O'Neil", "'s", 'e-mail', 'did', "n't", 'reach', '@who', '(', 'in', 'the', 'U.S.', ')', '...']
    >>> tokenize("IL-2", rules="alphanumeric")
    [Token(text='IL', start=0, end=2), Token(text='-', start=2, end=3), Token(text='2', start=3, end=4)]
    """
    check_rules(rules)
    tokens = []
    # No expression matches across a blank, so the tokens of a chunk between blanks can be cached.
    for chunk in compile_expression(f"[^{_BLANK}]+").finditer(_checked(text)):
        start = chunk.start()
        cut = _cut if len(chunk[0]) <= LONGEST_CACHED else _cut.__wrapped__
        tokens += [Token(part, start + first, start + end) for part, first, end in cut(chunk[0], rules)]
    return tokens


def split_sentences(text):
    """Splits a text into sentences.

    A sentence ends at a blank line, or with `.`, `!`, `?` or a similar mark and closing marks after it,
    unless a small letter follows the next blanks. Titles (Dr.), initials (J. S. Bach) and abbreviations such
    as U.S. and e.g. do not end a sentence.

    Args:
        text: str of at most `LONGEST_TEXT` characters.

    Returns:
        List of `Token`, one for each sentence, without blanks at their ends; empty for a blank text.

    Raises:
        KerasZooError: `text` is not a string, or too long.

    Example:

    >>> [sentence.text for sentence in split_sentences('Dr. No paid $3.50. "Why?" he asked. Nobody knew!')]
    ['Dr. No paid $3.50.', '"Why?" he asked.', 'Nobody knew!']
    """
    matches = compile_expression(SENTENCE).finditer(_checked(text))
    visible = compile_expression(KEEP).match
    return [Token(match[0], *match.span()) for match in matches if visible(match[0])]


def sentence_tokens(text, rules="words"):
    """Splits a text into sentences of `Token`s, with their places in the whole text.

    Returns a list of lists of `Token`. A sentence of more than `LONGEST_SENTENCE` tokens is cut, so that time
    and memory grow linearly with the length of any text.

    Example:

    >>> sentence_tokens("A cat. A dog.")[1]
    [Token(text='A', start=7, end=8), Token(text='dog', start=9, end=12), Token(text='.', start=12, end=13)]
    """
    return [
        [Token(token, start + sentence.start, end + sentence.start) for token, start, end in piece]
        for sentence in split_sentences(text)
        for piece in _pieces(tokenize(sentence.text, rules))
    ]


def fitting_rules(sentences):
    """Finds the rules that split raw text as a corpus is split.

    These are the finest rules that keep the corpus' tokens whole: the last of `TOKEN_RULES` that fail on at
    most 0.1 % more tokens than the best ones. If `@` and `#` are tokens, the corpus separates them from
    names, because nobody writes a blank after them.

    Example:

    >>> fitting_rules([["Selegiline", "-", "induced"]]), fitting_rules([["techno-based"]])
    ('alphanumeric', 'marks_apart')
    """
    counts = Counter(token for tokens in sentences for token in tokens)

    def agrees(token, rules):
        if token in ("@", "#"):
            return len(tokenize(token + "name", rules)) == 2
        return len(tokenize(token, rules)) == 1

    right = {name: sum(counts[token] for token in counts if agrees(token, name)) for name in TOKEN_RULES}
    enough = max(right.values()) - 0.001 * counts.total()
    return [name for name in TOKEN_RULES if right[name] >= enough][-1]


def check_rules(rules):
    """Raises a `KerasZooError` if token rules are unknown."""
    if rules not in TOKEN_RULES:
        raise KerasZooError(f"expected token rules of {', '.join(TOKEN_RULES)}, got {rules!r}")


compile_expression = functools.cache(re.compile)


def addresses(text):
    """Returns the web and mail addresses in a text, a list of str.

    >>> addresses("See www.example.org/a, or write to me@example.org.")
    ['www.example.org/a', 'me@example.org']
    """
    return compile_expression(_either(_URL, _MAIL)).findall(text)


@functools.lru_cache(1 << 16)
def _cut(chunk, rules):
    """Returns the tokens of a text without blanks, each with its start and end."""
    match, part = TOKEN_RULES[rules]
    split = compile_expression(f"({part or '(?!)'})").split
    tokens = []
    for found in compile_expression(match).finditer(chunk):
        end = found.start()
        tokens += [(piece, end, end := end + len(piece)) for piece in split(found[0]) if piece]
    return tokens


def _pieces(tokens):
    return [tokens[i : i + LONGEST_SENTENCE] for i in range(0, len(tokens), LONGEST_SENTENCE)]


def _checked(text):
    if not isinstance(text, str):
        raise KerasZooError(f"expected a text, a string, got {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise KerasZooError(f"a text of {len(text):,} characters; split texts above {LONGEST_TEXT:,}")
    return text

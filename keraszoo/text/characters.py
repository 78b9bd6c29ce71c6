"""Classes of characters: one definition for Python, SavedModels and ONNX programs.

Strings such as `INVISIBLE` are the inside of a character class of `re` and of RE2, the engine in TensorFlow.
"""

import functools
import itertools
import re
from pathlib import Path

# Characters that a reader does not see and that change no word: soft hyphens, marks of direction, word
# joiners, fillers, byte order marks, anchors of annotations.
INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
)
# Joiners, selectors of variants and tags change words of some scripts, such as Arabic, and emoji.
JOINERS = "\u115f\u1160\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
# The letters and digits of scripts that need none: Latin, Greek, Cyrillic, Armenian, Georgian, East Asian.
_UNJOINED = (
    "0-9A-Za-z\u00c0-\u058f\u10a0-\u115e\u1161-\u11ff\u1e00-\u1fff\u2e80-\u3163\u3165-\ua4cf\uac00-\ud7ff"
    "\uf900-\ufaff\uff00-\uff9f\uffa1-\uffef"
)
# What a plain form does not have; the first group stays.
UNSEEN = f"([{_UNJOINED}])[{INVISIBLE}{JOINERS}]+|[{INVISIBLE}]+"


def plain_form(text):
    """Returns a text without invisible characters, and without joiners where no script needs them."""
    return text if text.isascii() else re.sub(UNSEEN, r"\1", text)


def inside(categories, characters="", others=False):
    """The inside of a character class, with ranges instead of names of categories.

    `categories` are names of Unicode categories, separated by blanks; one letter stands for all of its kind.
    `characters` are more of them, as in a class. With `others`, all other characters are meant.
    """
    wanted = tuple(categories.split())
    runs = [run for name, of_name in _table().items() if name.startswith(wanted) for run in of_name]
    runs += _ranges(characters)
    merged = []
    for first, last in sorted(runs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    if others:
        edges = [-1, *itertools.chain.from_iterable(merged), 0x110000]
        merged = [(a + 1, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if a + 1 < b]
    return "".join(_character(a) if a == b else f"{_character(a)}-{_character(b)}" for a, b in merged)


def members(characters):
    """The characters in the inside of a class, a set."""
    return {chr(code) for first, last in _ranges(characters) for code in range(first, last + 1)}


def _ranges(characters):
    found = re.findall(r"(?s)(\\x..|.)(?:-(\\x..|.))?", characters)
    return [(_code(first), _code(last or first)) for first, last in found]


def _code(character):
    return ord(character) if len(character) == 1 else int(character[2:], 16)


def _character(code):
    return f"\\x{code:02x}" if code < 128 and not chr(code).isalnum() and code != 95 else chr(code)


@functools.cache
def _table():
    """The ranges of each general category of Unicode 17: lists of first and last characters, as numbers.

    It is frozen, because engines of regular expressions know different versions. In `unicode.txt`, a line
    that is not indented starts a category; `41-5a` is a range, `100/136` every second character of one. Lo
    includes Lm; S is Sm, Sc and Sk; M, N and Z are all of theirs. Other categories are not needed.
    """
    table = {}
    lines = Path(__file__).with_name("unicode.txt").read_text("ascii").replace("\n ", "")
    for line in lines.strip().split("\n"):
        name, *runs = line.split()
        table[name] = []
        for run in runs:
            first, step, last = re.fullmatch(r"(\w+)([-/]?)(\w*)", run).groups()
            first, last = int(first, 16), int(last or first, 16)
            every_second = range(first, last + 1, 2)
            table[name] += zip(every_second, every_second, strict=True) if step == "/" else [(first, last)]
    return table

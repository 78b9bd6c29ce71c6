"""Messages: lines of progress on stderr, apart from results, and suggestions for misspelled names."""

import difflib
import re
import reprlib
import sys

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_bounded = reprlib.Repr()  # at most a few lines for any value


def one_line(text):
    r"""Escapes control characters and line ends, so that a message stays one line.

    Example:

    >>> print(one_line("no such file: a\nb\x1b[31m"))
    no such file: a\nb\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def harmless(text):
    r"""Escapes control characters, which a terminal would obey, but not tabs and line ends.

    Example:

    >>> print(harmless("PER\x1b[2J\nLOC\x9b31m"))
    PER\x1b[2J
    LOC\x9b31m
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def say(text):
    """Prints a message as one line."""
    print(f"keraszoo: {one_line(text)}", file=sys.stderr, flush=True)


def show(text):
    """Prints a text of several lines, such as a table."""
    print(harmless(str(text)), file=sys.stderr, flush=True)


def suggestion(name, allowed):
    """Returns the end of an error message: names that begin with or are close to a wrong one, else all.

    Example:

    >>> suggestion("epocs", ["seed", "epochs"])
    ', did you mean epochs?'
    >>> suggestion("tiny", ["tiny_de", "tiny_fr", "teeny"])
    ', did you mean tiny_de or tiny_fr?'
    >>> suggestion("tempo", ["seed", "epochs"])
    ', expected one of epochs, seed'
    """
    begun = sorted(other for other in allowed if len(str(name)) > 2 and other.startswith(str(name)))
    if begun:
        return f", did you mean {' or '.join(begun)}?"
    near = difflib.get_close_matches(str(name), allowed, n=3, cutoff=0.6)
    if near:
        ratios = [difflib.SequenceMatcher(None, other, str(name)).ratio() for other in near]
        best = [other for other, ratio in zip(near, ratios, strict=True) if ratio == ratios[0]]
        return f", did you mean {' or '.join(best)}?"
    return f", expected one of {', '.join(sorted(allowed))}" if allowed else ""


def shown(value):
    """Returns the `repr` of a value, shortened to 60 characters; quick for a value of any size."""
    text = _bounded.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

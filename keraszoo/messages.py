"""Lines on what is being done, on stderr, where they do not stand among results."""

import sys


def one_line(text):
    r"""Writes control characters, line ends and the like as escapes, so that a message stays one line.

    Example:

    >>> print(one_line("no such file: a\nb\x1b[31m"))
    no such file: a\nb\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def say(text):
    """Writes one line on what is being done."""
    print(f"keraszoo: {one_line(text)}", file=sys.stderr, flush=True)


def show(text):
    """Writes a text of several lines, such as a table, as it stands."""
    print(text, file=sys.stderr, flush=True)

"""What a terminal gets to see: results on stdout, everything else on stderr, an error in one line."""

import contextlib
import os
import re
import sys
import tempfile
from importlib.util import find_spec

from keraszoo.errors import KerasZooError
from keraszoo.messages import say

LOG_LINE = re.compile(r"[IWE]\d{4} |WARNING: All log messages before |To enable the following instructions: ")


def show_warning(message, category, filename, lineno, file=None, line=None):
    """Writes a warning to stderr in one line; it takes the place of `warnings.showwarning`."""
    say(f"warning: {message}")


@contextlib.contextmanager
def results():
    r"""Gives a function that writes lines of results to stdout; what else is printed goes to stderr.

    Keras prints its progress bars to stdout, where they would stand among translations. Lines are written in
    UTF-8 whatever the locale, each ended by `\n`, and are on their way when the function returns.

    Raises:
        SystemExit: with 141, as a shell has it of a program that nobody listened to any more, when whatever
            read stdout (`head`, for one) has gone.

    Example:

    >>> with results() as write:
    ...     write(["Zwei Hunde rennen.", ""])
    Zwei Hunde rennen.
    <BLANKLINE>
    """
    stdout = sys.stdout
    binary = getattr(stdout, "buffer", None)

    def write(lines):
        text = "".join(f"{line}\n" for line in lines)
        try:
            if binary is None:  # a notebook or a test put a text stream there
                stdout.write(text)
            else:
                binary.write(text.encode("utf-8", "replace"))
            stdout.flush()
        except BrokenPipeError:
            # Python flushes stdout once more when it ends, and would complain then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
            raise SystemExit(141) from None

    with contextlib.redirect_stdout(sys.stderr):
        yield write


def import_tensorflow():
    """Imports TensorFlow without its log lines, which it writes to stderr past every setting while it starts.

    From then on the environment variable TF_CPP_MIN_LOG_LEVEL, set to 3, has it log what ends the process and
    no more. Whoever sets that variable to another level is shown all. Where Keras computes on another backend
    and TensorFlow is not installed, there is nothing to import.

    Raises:
        KerasZooError: if TensorFlow cannot be imported; what it said is in the message.
    """
    if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow" and not find_spec("tensorflow"):
        return
    quiet = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3"
    try:
        with _without_log_lines() if quiet else contextlib.nullcontext():
            import tensorflow  # noqa: F401
    except ImportError as error:
        raise KerasZooError(f"TensorFlow cannot be imported: {error}") from error


@contextlib.contextmanager
def _without_log_lines():
    """Holds back what is written to stderr, and in the end shows what is not of TensorFlow's log."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            for line in written.read().decode("utf-8", "replace").splitlines():
                if not LOG_LINE.match(line):
                    print(line, file=sys.stderr)


def lines_at_once(file, count):
    """How many lines of a file are read before the first is answered: one, if somebody types them."""
    return 1 if file == "-" and sys.stdin.isatty() else count

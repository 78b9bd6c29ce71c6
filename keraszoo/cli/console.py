"""Output of the commands, results on stdout and everything else on stderr, and the options they share."""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from keraszoo.errors import InputWarning, KerasZooError
from keraszoo.messages import harmless, say
from keraszoo.registry import TASKS

Model = Annotated[str, Argument(metavar="MODEL", help="A model directory or the name of an included model.")]
Files = Annotated[list[str] | None, Argument(metavar="FILES", help="Text or gzip; stdin by default.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Beam = Annotated[
    int | None,
    Option("--beam-width", min=1, help="Number of hypotheses; 1 is greedy search; by default the model's."),
]
Penalty = Annotated[
    float | None, Option("--length-penalty", min=0.0, help="0 disables it, which favours short translations.")
]
MaxLength = Annotated[int | None, Option("--max-length", min=1, help="Maximum subwords per translation.")]
BatchSize = Annotated[int | None, Option("--batch-size", min=1, help="Sentences translated at once.")]

LOG_LINE = re.compile(r"[IWE]\d{4} |WARNING: All log messages before |To enable the following instructions: ")


def warning_writer():
    """Returns a replacement of `warnings.showwarning`: one line on stderr, of an input one for each kind."""
    shown = set()

    def show_warning(message, category, filename, lineno, file=None, line=None):
        if category not in shown:
            say(f"warning: {message}")
        if issubclass(category, InputWarning):
            shown.add(category)

    return show_warning


@contextlib.contextmanager
def results():
    r"""Yields a function that writes lines of results to stdout, and redirects all other output to stderr.

    Keras prints its progress bars to stdout, where they would mix with translations. Lines are written in
    UTF-8 in any locale, each ended by `\n`, and are flushed. A lone surrogate is written as `\ud800`, as in
    JSON; and on a terminal, which would obey them, so are the control characters of labels and texts.

    Raises:
        SystemExit: with 141 if the reader of stdout (for example `head`) has closed it.
        KerasZooError: stdout cannot be written, for example on a full disk.
    """
    stdout = sys.stdout
    binary = getattr(stdout, "buffer", None)

    def write(lines):
        text = "".join(f"{line}\n" for line in lines)
        text = harmless(text) if stdout.isatty() else text
        try:
            if binary is None:  # a notebook or a test has replaced stdout by a text stream
                stdout.write(text)
            else:
                binary.write(text.encode("utf-8", "backslashreplace"))
            stdout.flush()
        except OSError as error:
            discard(stdout)
            if isinstance(error, BrokenPipeError):
                raise SystemExit(141) from None
            raise KerasZooError(f"<stdout>: cannot write: {error.strerror or error}") from None

    with contextlib.redirect_stdout(sys.stderr):
        yield write


def discard(stream):
    """Sends what is left in the buffer of a stream nowhere: Python flushes it at exit, and prints errors."""
    with contextlib.suppress(io.UnsupportedOperation):  # a stream without a descriptor, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_closed_streams():
    """Opens each standard stream that the caller has closed, so that no other file gets its descriptor.

    Reading the closed stdin or writing to the closed stdout then raises an OSError, as for any bad file.
    Messages to the closed stderr are lost.
    """
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115


def check_output(path, check=None, folders=True):
    """Raises KerasZooError, before any work, if nothing can be written to a path.

    Args:
        path: the file to write, or the directory if there is a `check`.
        check: called with an existing directory; raises KerasZooError unless it may be replaced.
        folders: whether missing folders are created.
    """
    if not path or "\0" in path:
        raise KerasZooError(f"expected a path to write to, got {path!r}")
    if os.path.exists(path) and os.path.isdir(path) != (check is not None):
        came, expected = ("directory", "file") if check is None else ("file", "directory")
        raise KerasZooError(f"{path}: is a {came}, expected a {expected}")
    if Path(path).is_char_device() or Path(path).is_fifo():  # such as /dev/stdout, which is not replaced
        return
    parents = Path(os.path.abspath(path)).parents
    if not parents:
        raise KerasZooError(f"{path}: cannot be written: the root folder is not replaced")
    folder = next(parent for parent in parents if os.path.lexists(parent)) if folders else parents[0]
    if not os.path.isdir(folder):
        raise KerasZooError(f"{path}: cannot be written: there is no folder {folder} to write to")
    if not os.access(folder, os.W_OK):
        raise KerasZooError(f"{path}: cannot be written: no permission to write to the folder {folder}")
    if check is not None and os.path.exists(path):
        check(path)
    from keraszoo.saving.atomic import check_room

    check_room(path)


def refuse(option, **others):
    """Raises KerasZooError if an option was given that has no effect together with `option`."""
    for name, value in others.items():
        if value is not None:
            raise KerasZooError(f"--{name.replace('_', '-')} has no effect with {option}; leave it out")


def one_thread_per_operation():
    """Lets TensorFlow run each operation on one thread, for commands with a batch on each core."""
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")


def import_keras():
    """Imports Keras, and TensorFlow without the log lines that it writes to stderr regardless of any setting.

    Only fatal errors are logged then, unless the user has set TF_CPP_MIN_LOG_LEVEL. If Keras uses another
    backend and TensorFlow is not installed, Keras alone is imported.
    """
    name = "TensorFlow"
    try:
        if os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow" or find_spec("tensorflow"):
            quiet = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3"
            with _without_log_lines() if quiet else contextlib.nullcontext():
                import tensorflow  # noqa: F401
        name = "Keras"
        import keras  # noqa: F401
    except (ImportError, ValueError) as error:  # Keras raises a ValueError for an unknown backend
        raise KerasZooError(f"{name} cannot be imported: {error}") from error


@contextlib.contextmanager
def _without_log_lines():
    """Holds back what is written to stderr and prints it at the end, except TensorFlow's log lines."""
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
    """Returns how many lines to read before the first answer: one if somebody types them, who is told so."""
    if file != "-" or not sys.stdin.isatty():
        return count
    say("reads from the terminal, a text on each line; Ctrl-D ends")
    return 1


def hint(*command):
    """Prints the command for the next step on a terminal. Logs and scripts do not get this line."""
    if sys.stderr.isatty():
        say(f"next: {shlex.join(map(str, command))}")


def hint_at_use(model, task):
    """Prints the command that uses a model of a task."""
    command, *arguments = TASKS[task].command if str(task) in TASKS else ("list",)
    hint("keraszoo", *command.split(), *([model] if arguments else []), *arguments)

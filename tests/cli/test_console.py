"""Streams, outputs and log lines of the commands: what is checked before any work, and how a command ends."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import keraszoo
from keraszoo.cli import app, console
from keraszoo.errors import KerasZooError
from keraszoo.registry import TASKS

FOLDER = Path(keraszoo.__file__).parents[1]
STANDS_IN = """
import sys, time
from keraszoo.cli import app, translator
class Echo:
    def translate(self, sources, **options):
        return sources
translator.load = lambda *_: Echo()
"""
QUIET = "from keraszoo.cli import console; console.import_keras(); "
WORK = "import tensorflow as tf, tensorflow_text; tf.config.list_physical_devices(); tf.constant(1) + 1"
OUTPUTS = {
    "export": (["export", "tatoeba_en_de_transformer", "{}"], "directory"),
    "plot": (["plot", "tatoeba_en_de_transformer", "A dog.", "{}"], "file"),
    "train": (["train", "{recipe}", "--output", "{}"], "directory"),
    "distil": (["distil", "teacher", "--recipe", "{recipe}", "--output", "{}"], "directory"),
    "init": (["init", "translation", "corpora", "--output", "{}"], "file"),
    "ensemble": (["ensemble", "tatoeba_en_de_transformer", "--output", "{}"], "directory"),
    "subwords": (["subwords", "train", "{recipe}", "--output", "{}"], "file"),
    "vectors train": (["vectors", "train", "{recipe}", "--output", "{}"], "directory"),
    "vectors convert": (["vectors", "convert", "{recipe}", "--output", "{}"], "directory"),
}


def test_hints_are_for_people_at_a_terminal(capfd, monkeypatch):
    console.hint("keraszoo", "train", "my recipe.yaml")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    console.hint("keraszoo", "train", "my recipe.yaml")
    assert capfd.readouterr() == ("", "keraszoo: next: keraszoo train 'my recipe.yaml'\n")
    commands = {name for panel in app.COMMANDS.values() for name in panel}
    for task in (*TASKS, None):
        console.hint_at_use("m", task)
        assert capfd.readouterr().err.split()[3] in commands


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_cannot_be_written_is_an_error_before_any_work(run, tmp_path, monkeypatch, name):
    monkeypatch.setattr(console, "import_keras", None)
    arguments, kind = OUTPUTS[name]
    recipe = tmp_path / "recipe"
    recipe.write_text("data: {train: {tsv: pairs.tsv}}\noutput: out\n")
    (tmp_path / "words").mkdir()
    (tmp_path / "words/a.txt").write_text("a")
    wrong = {"recipe/below": "there is no folder", "x" * 243: "File name too long"}
    if kind == "file":
        wrong["words"] = "is a directory, expected a file"
    else:
        wrong |= {"recipe": "is a file", "words": ""}
    for place, said in wrong.items():
        code, out, err = run(*(argument.format(tmp_path / place, recipe=recipe) for argument in arguments))
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert said in err and str(tmp_path / place) in err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "recipe", "words"]


@pytest.mark.parametrize(
    ("taken", "said"),
    [("out_seed4", "is a file, expected a directory"), ("out_seeds.json", "is a directory, expected a file")],
)
def test_the_outputs_of_all_seeds_are_checked_before_any_work(run, tmp_path, monkeypatch, taken, said):
    monkeypatch.setattr(console, "import_keras", None)
    (tmp_path / taken).touch() if taken == "out_seed4" else (tmp_path / taken).mkdir()
    recipe = tmp_path / "recipe"
    recipe.write_text("data: {train: {tsv: pairs.tsv}}\noutput: out\ntraining: {seed: 3}\n")
    code, out, err = run("train", str(recipe), "--seeds", "2")
    assert (code, out, err) == (2, "", f"keraszoo: error: {tmp_path / taken}: {said}\n")


def test_a_terminal_gets_no_control_characters_and_a_file_gets_them_all(monkeypatch):
    for terminal, wanted in ((True, "A\\x1b[2J\tB\\r\n"), (False, "A\x1b[2J\tB\r\n")):
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, newline="")
        stream.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stdout", stream)
        with console.results() as write:
            write(["A\x1b[2J\tB\r"])
        assert written.getvalue().decode() == wanted


def test_a_full_disk_is_one_line(program):
    with open("/dev/full", "wb") as full:
        process = program("translate", "m", code=STANDS_IN + "app.main()", stdout=full)
        _, err = process.communicate(b"a dog\n", timeout=60)
    assert process.returncode == 2
    assert err == b"keraszoo: error: <stdout>: cannot write: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("list >&-", 2, "keraszoo: error: <stdout>: cannot write: Bad file descriptor"),
        ("list >&- 2>&-", 2, ""),
        ("--help >&-", 2, "keraszoo: error: [Errno 9] Bad file descriptor"),
        ("subwords train - --vocabulary-size 50 --output x <&-", 2, "<stdin>: cannot read: Bad file"),
        ("list <&- >/dev/null", 0, ""),
    ],
)
def test_closed_streams(command, status, said):
    command = ["sh", "-c", f"{sys.executable} -m keraszoo {command}"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (status, "")
    assert said in run.stderr and run.stderr.count("\n") == bool(said)


def test_a_reader_that_goes_away_ends_it_quietly(program, tmp_path):
    (tmp_path / "text").write_bytes(b"a dog\n" * 100_000)
    process = program("translate", "m", f"{tmp_path}/text", code=STANDS_IN + "app.main()")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_ctrl_c_ends_it_quietly_with_130(program):
    # The answer to the first chunk shows that the program is in the middle of its work.
    process = program("translate", "m", code=STANDS_IN + "app.main()")
    process.stdin.write(b"a dog\n" * 512)
    process.stdin.flush()
    assert process.stdout.readline() == b"a dog\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_a_locale_without_letters_changes_nothing(program):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = program("translate", "m", code=STANDS_IN + "app.main()", env=environment)
    out, err = process.communicate("Überraschung 😀\n".encode(), timeout=60)
    assert (out.decode(), err) == ("Überraschung 😀\n", b"")


@pytest.mark.slow
def test_tensorflow_comes_and_works_without_a_line_unless_they_are_asked_for(program):
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    assert program(code=QUIET + WORK, env=environment).communicate(timeout=120) == (b"", b"")
    environment["TF_CPP_MIN_LOG_LEVEL"] = "0"
    _, err = program(code=QUIET + WORK, env=environment).communicate(timeout=120)
    assert b"oneDNN custom operations are on" in err or b"optimized to use available CPU" in err


def test_what_is_no_log_line_is_shown(program, tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "import os, sys\n"
        "os.write(2, b'I0000 00:00:17.4 62 port.cc:153] oneDNN\\nE0000 00:00:17.4 62 cuda.cc:5] none\\n')\n"
        "print('disk on fire', file=sys.stderr)\n"
        "raise ImportError('no such thing')\n"
    )
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": f"{tmp_path}:{FOLDER}"}
    process = program("translate", "m", stdin=subprocess.DEVNULL, env=environment)
    _, err = process.communicate(timeout=60)
    said = ["disk on fire", "keraszoo: error: TensorFlow cannot be imported: no such thing"]
    assert (process.returncode, err.decode().splitlines()) == (2, said)


def test_another_backend_needs_no_tensorflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if it were not installed
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    console.import_keras()
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    with pytest.raises(KerasZooError, match="TensorFlow cannot be imported"):
        console.import_keras()


@pytest.mark.parametrize("command", [["export", "m", "/"], ["vectors", "convert", "x", "--output", "/"]])
def test_the_root_folder_is_no_output(run, command):
    said = "keraszoo: error: /: cannot be written: the root folder is not replaced\n"
    assert run(*command) == (2, "", said)


def test_a_folder_without_permission_and_a_pipe(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(os, "access", lambda *_: False)
    console.check_output(str(tmp_path / "pipe"))
    with pytest.raises(KerasZooError, match="no permission to write to the folder"):
        console.check_output(str(tmp_path / "a.png"))


def test_who_types_is_answered_line_by_line_and_told_so(monkeypatch, capsys):
    assert console.lines_at_once("-", 7) == console.lines_at_once("a file", 7) == 7
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert console.lines_at_once("-", 7) == 1 and "Ctrl-D ends" in capsys.readouterr().err
    assert console.lines_at_once("a file", 7) == 7 and not capsys.readouterr().err

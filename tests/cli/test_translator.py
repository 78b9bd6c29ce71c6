"""The commands with a trained translator: their output, and one-line errors."""

import json
import os

import pytest

from keraszoo.cli import translator as commands
from keraszoo.translation.lines import align_lines


@pytest.fixture
def files(tmp_path, test_pairs, monkeypatch):
    """A folder to work in, with a few files good and bad."""
    monkeypatch.chdir(tmp_path)
    sources, targets = zip(*test_pairs, strict=True)
    (tmp_path / "a.en").write_text("".join(f"{line}\n" for line in sources))
    (tmp_path / "a.de").write_text("".join(f"{line}\n" for line in targets))
    (tmp_path / "short.de").write_text("eins\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 4)
    return tmp_path


@pytest.fixture
def loaded(trained, trained_directory, monkeypatch):
    """The commands find the trained translator in memory; its directory is `MODEL`."""
    load = commands.load

    def find(model, engine="keras"):
        return trained if model == str(trained_directory) else load(model, engine)

    monkeypatch.setattr(commands, "load", find)
    return trained


@pytest.mark.parametrize(
    ("command", "expected"), [("translate", "1"), ("evaluate", "1"), ("score", None), ("align", None)]
)
def test_only_commands_with_batches_on_all_cores_want_one_thread_per_operation(
    run, files, trained_directory, loaded, monkeypatch, command, expected
):
    (files / "a.en").write_text("one two\n")
    (files / "a.de").write_text("zwei eins\n")
    target = "--references" if command == "evaluate" else "--target"
    sides = ["a.en"] if command == "translate" else ["--source", "a.en", target, "a.de"]
    assert run(command, trained_directory, *sides)[0] == 0
    assert os.environ.get("TF_NUM_INTRAOP_THREADS") == expected
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "3")
    assert run(command, trained_directory, *sides)[0] == 0
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "3"


def test_export(run, files, trained_directory, loaded, monkeypatch):
    done = []
    monkeypatch.setattr(type(loaded), "export", lambda self, place, **options: done.append((place, options)))
    monkeypatch.setattr(type(loaded), "verify_export", lambda self, directory, lines: len(lines))
    code, out, err = run("export", trained_directory, "saved", "--verify", "a.en", "--jit-compile")
    assert (code, out) == (0, "saved\n40 of 40 results are the same\n"), err
    assert done == [("saved", {"format": "savedmodel", "jit_compile": True})]
    ctranslate2 = ("--format", "ctranslate2", "--quantize", "int8")
    code, out, err = run("export", trained_directory, "other", "--verify", "a.en", *ctranslate2)
    assert (code, out) == (0, "other\n40 of 40 results are the same\n"), err
    assert done[1] == ("other", {"format": "ctranslate2", "quantize": "int8"})
    for options, said in (
        ([*ctranslate2, "--jit-compile"], "--jit-compile has no effect with --format ctranslate2"),
        (["--quantize", "int8"], "--quantize has no effect with --format savedmodel"),
    ):
        refused = run("export", trained_directory, "other", *options)
        assert refused == (2, "", f"keraszoo: error: {said}; leave it out\n")


@pytest.mark.slow
def test_terms_of_a_file_and_minimum_risk(run, files, trained_directory, trained):
    (files / "terms.tsv").write_text("one two\tdrei drei\n\nsix\tsechs\n")
    given, text = ("translate", trained_directory, "--terms", "terms.tsv"), b"four one two\n\nsix five\n"
    code, out, _ = run(*given, stdin=text)
    first, blank, last = out.splitlines()
    assert code == 0 and "drei drei" in first and blank == "" and "sechs" in last
    code, out, _ = run(*given, "--decision", "mbr", stdin=text)
    terms = {"one two": "drei drei", "six": "sechs"}
    wanted = trained.translate(text.decode().splitlines(), terms=terms, decision="mbr")
    assert (code, out.splitlines()) == (0, wanted)


def test_align_and_prefix(run, files, loaded, trained_directory, test_pairs):
    code, out, err = run("align", trained_directory, "--source", "a.en", "--target", "a.de")
    assert (code, out.splitlines()) == (0, next(align_lines(loaded, test_pairs))), err
    code, out, _ = run("translate", trained_directory, "--prefix", "zwei", stdin=b"one two\nthree\n")
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == ["zwei", "zwei"]


@pytest.mark.filterwarnings("always")
def test_a_warning_about_texts_comes_once(run, trained_directory, loaded, monkeypatch):
    monkeypatch.setattr("keraszoo.cli.console.lines_at_once", lambda *_: 4)
    lines = "one [ two\nŁódź one\none two. Three four. Five\n" * 2  # more than a chunk
    code, out, err = run("translate", trained_directory, "--json", stdin=lines.encode())
    warnings = [line for line in err.splitlines() if line.startswith("keraszoo: warning: ")]
    assert code == 0 and len(warnings) == 2, err
    assert "texts look like several sentences" in warnings[0]
    assert "have characters that the vocabulary does not have" in warnings[1] and "'['" in warnings[1]
    answers = list(map(json.loads, out.splitlines()))
    assert [answer.get("unknown") for answer in answers[:2]] == [["["], ["Łódź"]]


def test_documents_and_words_to_keep(run, files, trained_directory, loaded):
    text = "- one two.\n\n  three {x}\nAcme four"
    (files / "a.txt").write_bytes(text.encode())
    options = "--document", "--keep", "Acme", "--language", "en"
    code, out, _ = run("translate", trained_directory, "a.txt", *options)
    assert (code, out) == (0, loaded.translate_document(text, keep=["Acme"]) + "\n")
    assert out.startswith("- ") and out.count("\n") == 4 and "{x}" in out and "Acme" in out
    code, out, _ = run("translate", trained_directory, "--keep", "Acme", stdin=b"one Acme\n\n")
    assert code == 0 and "Acme" in out and out.count("\n") == 2
    assert run("translate", trained_directory, "empty", "--document")[:2] == (0, "")


SCORE = ("score", "MODEL", "--source", "a.en", "--target")
EVALUATE = ("evaluate", "MODEL", "--source", "empty", "--references")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("translate", "MODEL", "binary", "--document"), "binary:1: a NUL byte"),
        (("translate", "MODEL", "a.en", "--document", "--json"), "exclude"),
        (("translate", "MODEL", "a.en", "--wrapped"), "need --document"),
        (("translate", "MODEL", "a.en", "--markup", "xml"), "html, markdown, got 'xml'"),
        (("translate", "none", "a.en"), "none: no such directory"),
        (("translate", ".", "a.en"), "is not a model directory"),
        (("translate", "a.en", "a.en"), "a.en"),
        ((*SCORE, "short.de"), "unequal numbers"),
        ((*EVALUATE, "empty"), "empty corpus"),
        (("export", "MODEL", "full"), "something else"),
        (("export", "MODEL", "/dev/null/x"), "/dev/null"),
        (("train", "key.yaml"), "key.yaml:1: training.epoch: unknown key"),
        (("train", "good.yaml", "--output", "full"), "not overwritten"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    refusal, files, trained_directory, loaded, arguments, said
):
    (files / "full").mkdir()
    (files / "full" / "thesis.tex").write_text("years of work")
    least = "data: {train: {source: a.en, target: a.de}}\noutput: x\n"
    (files / "good.yaml").write_text(least)
    (files / "key.yaml").write_text("training: {epoch: 1}\n" + least)
    before = sorted(files.rglob("*"))
    assert said in refusal(*(trained_directory if part == "MODEL" else part for part in arguments))
    assert sorted(files.rglob("*")) == before

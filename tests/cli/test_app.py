"""The command line's own part: options, streams, exit codes and the one line of an error."""

import importlib.metadata
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import keraszoo
from keraszoo.cli import app, console
from keraszoo.cli import translator as commands
from keraszoo.errors import KerasZooError
from keraszoo.saving.model_directory import write_directory
from keraszoo.translation.results import Hypothesis, Translation

FOLDER = Path(keraszoo.__file__).parents[1]
STANDS_IN = """
import sys, time
from keraszoo.cli import app, translator
class Echo:
    def translate(self, sources, **options):
        return sources
translator.load = lambda *_: Echo()
"""


class Upper:
    """Stands in for a Translator: capital letters are the other language."""

    def __init__(self):
        self.options = None

    def translate(self, sources, **options):
        print("a progress bar")  # as Keras does, on stdout
        self.options = options
        return [source.strip().upper() for source in sources]

    def translate_details(self, sources, **options):
        return [
            Translation(
                text=text,
                log_prob=-1.0,
                tokens=[f"\u2581{word}" for word in text.split()],
                source_tokens=[f"\u2581{word}" for word in source.split()],
                attention_weights=np.eye(len(text.split())),
                hypotheses=[Hypothesis(text, -1.0, -1.0)],
            )
            for source, text in zip(sources, self.translate(sources, **options), strict=True)
        ]

    def require_attention(self, wanted=None):
        """It has attention weights."""

    def align(self, sources, targets, heads):
        return [np.full((2, 3, len(targets[0]), len(sources[0].split())), 0.5)]

    def score(self, sources, targets):
        return np.array([-len(target) / 3 for target in targets], "float32")

    def evaluate(self, sources, references, **options):
        from keraszoo.evaluation.translation import score_translations

        return score_translations(self.translate(sources, **options), references)


@pytest.fixture
def translator(monkeypatch):
    translator = Upper()
    monkeypatch.setattr(commands, "load", lambda *_: translator)
    monkeypatch.setattr(app, "task", lambda model: "translation")
    return translator


def program(*arguments, code=None, **options):
    """Starts the command line, or some code, in a process of its own."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "keraszoo"]), *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, **{**pipes, **options})


def test_help_and_version_import_nothing_large():
    code = (
        "import sys\nfrom keraszoo.cli import app\n"
        "try: app.main(['--help'])\nexcept SystemExit as ended: assert not ended.code\n"
        "large = {'tensorflow', 'keras', 'numpy', 'pydantic', 'sacrebleu', 'matplotlib'}\n"
        "assert not large & set(sys.modules), large & set(sys.modules)\n"
    )
    process = program(code=code)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    panels = re.findall(r"─ ([A-Z][a-z ]+) ─|\n│ ([a-z]\S+)", out.decode())
    listed = [panel or command for panel, command in panels]
    assert listed == [
        "Options",
        *itertools.chain(*((panel, *names) for panel, names in app.COMMANDS.items())),
    ]
    assert {"train", "translate", "doctor"} < set(listed)


def test_hints_are_for_people_at_a_terminal(capfd, monkeypatch):
    console.hint("keraszoo", "train", "my recipe.yaml")
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    console.hint("keraszoo", "train", "my recipe.yaml")
    assert capfd.readouterr() == ("", "keraszoo: next: keraszoo train 'my recipe.yaml'\n")
    commands = {name for panel in app.COMMANDS.values() for name in panel}
    for task in ("translation", "tagging", "question answering", "word vectors", None):
        console.hint_at_use("m", task)
        assert capfd.readouterr().err.split()[3] in commands


def test_doctor_reports_versions_devices_precisions_extras_models_and_disk(run):
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    assert re.findall(r"^\w+", out, re.MULTILINE) == [
        "versions", "devices", "precisions", "extras", "models", "disk"
    ]  # fmt: skip
    facts = json.loads(run("doctor", "--json")[1])
    assert f"keras {importlib.metadata.version('keras')}" in facts["versions"]
    assert [line.split(":")[0] for line in facts["precisions"]] == ["float32", "bfloat16", "float16"]
    free = float(facts["disk"][0].split(" GB")[0])
    assert free == pytest.approx(shutil.disk_usage(".").free / 1e9, abs=2)
    assert not any("test:" in line for line in facts["extras"])  # or these tests could not run


def test_version(run):
    assert run("--version") == (0, f"keraszoo {keraszoo.__version__}\n", "")


def test_no_arguments_show_the_help(run):
    code, out, _ = run()
    assert code == 0 and out.strip().startswith("Usage: keraszoo ")


def test_translate_stdin_to_stdout(run, translator):
    code, out, err = run("translate", "m", stdin="a dog\r\n\n \nä\u2028b".encode())
    assert (code, out) == (0, "A DOG\n\n\nÄ B\n")
    assert err == "a progress bar\n"
    assert translator.options == {}


def test_translate_files_in_their_order_with_options(run, translator, tmp_path):
    (tmp_path / "a").write_text("one\ntwo")
    (tmp_path / "b").write_text("three\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    options = ["--beam-width", "3", "--length-penalty", "0.5", "--max-length", "9", "--batch-size", "2"]
    assert run("translate", "m", *files, *options)[:2] == (0, "ONE\nTWO\nTHREE\n")
    assert translator.options == {"beam_width": 3, "length_penalty": 0.5, "max_length": 9, "batch_size": 2}


OUTPUTS = {
    "export": (["export", "tatoeba_en_de_transformer", "{}"], "directory"),
    "plot": (["plot", "tatoeba_en_de_transformer", "A dog.", "{}"], "file"),
    "train": (["train", "{recipe}", "--output", "{}"], "directory"),
    "distil": (["distil", "teacher", "--recipe", "{recipe}", "--output", "{}"], "directory"),
    "subwords": (["subwords", "train", "{recipe}", "--output", "{}"], "file"),
    "vectors train": (["vectors", "train", "{recipe}", "--output", "{}"], "directory"),
    "vectors convert": (["vectors", "convert", "{recipe}", "--output", "{}"], "directory"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_cannot_be_written_is_an_error_before_any_work(run, tmp_path, monkeypatch, name):
    monkeypatch.setattr(console, "import_tensorflow", None)
    arguments, kind = OUTPUTS[name]
    recipe = tmp_path / "recipe"
    recipe.write_text("data: {train: {tsv: pairs.tsv}}\noutput: out\n")
    (tmp_path / "words").mkdir()
    (tmp_path / "words/a.txt").write_text("a")
    wrong = {"words": "is a directory, expected a file"} if kind == "file" else {"recipe": "is a file"}
    wrong |= {"recipe/below": "there is no folder"} | ({"words": ""} if kind == "directory" else {})
    for place, said in wrong.items():
        command = [argument.format(tmp_path / place, recipe=recipe) for argument in arguments]
        code, out, err = run(*command)
        assert (
            (code, out, len(err.splitlines())) == (2, "", 1) and said in err and str(tmp_path / place) in err
        )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "recipe", "words"]


@pytest.mark.parametrize(
    ("taken", "said"),
    [("out_seed4", "is a file, expected a directory"), ("out_seeds.json", "is a directory, expected a file")],
)
def test_the_outputs_of_all_seeds_are_checked_before_any_work(run, tmp_path, monkeypatch, taken, said):
    monkeypatch.setattr(console, "import_tensorflow", None)
    (tmp_path / taken).touch() if taken == "out_seed4" else (tmp_path / taken).mkdir()
    recipe = tmp_path / "recipe"
    recipe.write_text("data: {train: {tsv: pairs.tsv}}\noutput: out\ntraining: {seed: 3}\n")
    code, out, err = run("train", str(recipe), "--seeds", "2")
    assert (code, out, err) == (2, "", f"keraszoo: error: {tmp_path / taken}: {said}\n")


@pytest.mark.parametrize("option", [["--json"], ["--n-best", "2"], ["--attention"]])
def test_translate_as_json_lines(run, translator, option):
    code, out, _ = run("translate", "m", *option, stdin=b"a dog\n\n")
    first, blank = map(json.loads, out.splitlines())
    assert first["text"] == "A DOG" and blank["text"] == ""
    assert ("attention_weights" in first) == (option == ["--attention"])
    assert translator.options == ({"num_hypotheses": 2} if "--n-best" in option else {})


def test_evaluate_as_a_table_and_as_json(run, translator, tmp_path):
    (tmp_path / "source").write_text("the cat sat on the mat\n")
    (tmp_path / "target").write_text("THE CAT SAT ON THE MAT\n")
    arguments = ["evaluate", "m", "--source", f"{tmp_path}/source", "--references", f"{tmp_path}/target"]
    code, out, _ = run(*arguments)
    assert code == 0 and "BLEU" in out and "100.00" in out and "nrefs:1" in out
    scores = json.loads(run(*arguments, "--json")[1])
    assert scores["bleu"]["score"] == pytest.approx(100) and scores["sentences"] == 1


def test_score_one_number_a_line(run, translator, tmp_path):
    (tmp_path / "source").write_text("a\nb\n")
    (tmp_path / "target").write_text("xyz\nx\n")
    arguments = ["--source", f"{tmp_path}/source", "--target", f"{tmp_path}/target"]
    assert run("score", "m", *arguments)[:2] == (0, "-1.000000\n-0.333333\n")


def test_plot_runs_draws_the_histories_of_directories(run, tmp_path):
    pytest.importorskip("matplotlib")
    from keraszoo.saving.model_directory import write_directory

    for name in "ab":
        metrics = {"training": {"steps": 9, "loss": [2.0, 1.0]}}
        write_directory(tmp_path / name, {"config.json": {}, "metrics.json": metrics})
    picture = tmp_path / "runs.svg"
    assert run("plot-runs", tmp_path / "a", tmp_path / "b", "--output", picture) == (0, f"{picture}\n", "")
    assert b"<svg" in picture.read_bytes()
    assert run("plot-runs", tmp_path / "a", "--output", tmp_path / "c") == (0, f"{tmp_path / 'c.png'}\n", "")
    assert (tmp_path / "c.png").is_file()
    code, out, err = run("plot-runs", tmp_path / "a", "english_entities", "--output", picture)
    assert (code, out) == (2, "") and "english_entities: has no history of a training" in err


@pytest.mark.parametrize("option", [[], ["--subwords"], ["--heads"], ["--heads", "--subwords"]])
def test_plot_writes_a_picture(run, translator, tmp_path, option):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    code, out, _ = run("plot", "m", "a dog", str(picture), *option)
    assert (code, out) == (0, "A DOG\n")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_subwords_train_writes_a_model_that_loads(run, tmp_path):
    from keraszoo.text.subwords import Subwords

    (tmp_path / "text").write_text("".join(f"{i} times {i * i}\n" for i in range(200)))
    model = str(tmp_path / "joint.model")
    arguments = ["--output", model, "--vocabulary-size", "40", "--type", "unigram"]
    code, out, err = run("subwords", "train", f"{tmp_path}/text", *arguments)
    assert (code, out) == (0, f"{model}\n")
    subwords = Subwords.load(model)
    assert subwords.decode(subwords.encode(["12 times 144"])) == ["12 times 144"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train"], "Missing argument 'RECIPE'"),
        (["train", "no\nsuch\x1b[31m.yaml"], r"no\nsuch\x1b[31m.yaml: cannot be read: No such file"),
        (["trian"], "No such command 'trian'"),
        (["translate", "m", "--beam"], "No such option: --beam"),
        (["translate", "m", "--beam-width", "0"], "Invalid value for '--beam-width'"),
        (["translate", "m", "no such file"], "no such file: cannot read: No such file"),
        (["translate", "m", "/"], "/: cannot read: Is a directory"),
        (["evaluate", "m", "--source", "x"], "Missing option '--references'"),
        (["score", "m", "--source", "no\rfile", "--target", "x"], r"no\rfile: cannot read"),
        (["plot", "m", " ", "out.png"], "expected a sentence, got a blank one"),
        (["plot", "m", "a dog", "/dev/null/x.png"], "/dev/null"),
        (["plot", "m", "a dog", "/dev/null"], "/dev/null: cannot be drawn: expected an ending of "),
        (["export", "m", "x", "--format", "onx"], "Invalid value for '--format'"),
        (["plot", "m", "a dog", "x.html"], "x.html: cannot be drawn: expected an ending of "),
        (["subwords", "train", "no-file", "--output", "x"], "no-file: cannot read"),
        (["subwords"], "Missing command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, translator, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    err = err.removeprefix("a progress bar\n")
    assert err.startswith("keraszoo: error: ") and len(err.splitlines()) == 1 and said in err


def test_a_bad_line_comes_after_the_answers_to_the_good_ones(run, translator):
    code, out, err = run("translate", "m", stdin=b"fine\n" * 512 + b"not \xff text\n")
    assert code == 2 and out == "FINE\n" * 512
    assert err.splitlines()[-1] == (
        "keraszoo: error: <stdin>:513: not UTF-8: byte 0xff at byte 5 of the line"
    )


def test_a_full_disk_is_one_line():
    with open("/dev/full", "wb") as full:
        process = program("translate", "m", code=STANDS_IN + "app.main()", stdout=full)
        _, err = process.communicate(b"a dog\n", timeout=60)
    assert process.returncode == 2
    assert err == b"keraszoo: error: <stdout>: cannot write: No space left on device\n"


@pytest.mark.parametrize(
    "command, status, said",
    [
        ("list >&-", 2, "keraszoo: error: <stdout>: cannot write: Bad file descriptor"),
        ("list >&- 2>&-", 2, ""),
        ("--help >&-", 2, "keraszoo: error: [Errno 9] Bad file descriptor"),
        ("subwords train - --vocabulary-size 50 --output x <&-", 2, "<stdin>: cannot read: Bad file"),
        ("list <&- >/dev/null", 0, ""),
    ],
)
def test_closed_streams(command, status, said):
    run = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m keraszoo {command}"], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (status, "")
    assert said in run.stderr and run.stderr.count("\n") == bool(said)


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path):
    (tmp_path / "text").write_bytes(b"a dog\n" * 100_000)
    process = program("translate", "m", f"{tmp_path}/text", code=STANDS_IN + "app.main()")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_ctrl_c_ends_it_quietly_with_130():
    # The answer to the first chunk shows that the program is in the middle of its work.
    process = program("translate", "m", code=STANDS_IN + "app.main()")
    process.stdin.write(b"a dog\n" * 512)
    process.stdin.flush()
    assert process.stdout.readline() == b"a dog\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_a_locale_without_letters_changes_nothing():
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = program("translate", "m", code=STANDS_IN + "app.main()", env=environment)
    out, err = process.communicate("Überraschung 😀\n".encode(), timeout=60)
    assert (out.decode(), err) == ("Überraschung 😀\n", b"")


def test_python_m_keraszoo_is_the_command():
    process = program("train", "none.yaml")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert err == b"keraszoo: error: none.yaml: cannot be read: No such file or directory\n"


QUIET = "from keraszoo.cli import console; console.import_tensorflow(); "
WORK = "import tensorflow as tf, tensorflow_text; tf.config.list_physical_devices(); tf.constant(1) + 1"


@pytest.mark.slow
def test_tensorflow_comes_and_works_without_a_line_unless_they_are_asked_for():
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    assert program(code=QUIET + WORK, env=environment).communicate(timeout=120) == (b"", b"")
    environment["TF_CPP_MIN_LOG_LEVEL"] = "0"
    _, err = program(code=QUIET + WORK, env=environment).communicate(timeout=120)
    assert b"oneDNN custom operations are on" in err or b"optimized to use available CPU" in err


def test_what_is_no_log_line_is_shown(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "import os, sys\n"
        "os.write(2, b'I0000 00:00:17.4 62 port.cc:153] oneDNN\\nE0000 00:00:17.4 62 cuda.cc:5] none\\n')\n"
        "print('disk on fire', file=sys.stderr)\n"
        "raise ImportError('no such thing')\n"
    )
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": f"{tmp_path}:{FOLDER}"}
    process = program("translate", "m", stdin=subprocess.DEVNULL, env=environment)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode().splitlines()) == (
        2,
        ["disk on fire", "keraszoo: error: TensorFlow cannot be imported: no such thing"],
    )


@pytest.mark.slow
def test_an_error_after_tensorflow_came_is_still_one_line():
    process = program(
        code="from keraszoo.cli import app, console; console.import_tensorflow(); app._fail('x')"
    )
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (2, b"keraszoo: error: x\n")


def test_another_backend_needs_no_tensorflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if it were not installed
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    console.import_tensorflow()
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    with pytest.raises(KerasZooError, match="TensorFlow cannot be imported"):
        console.import_tensorflow()


def test_init_writes_a_recipe_and_reports_on_stderr(run, tmp_path):
    (tmp_path / "train.tsv").write_text("one\teins\ntwo\tzwei\n" * 9)
    code, out, err = run("init", "translation", tmp_path)
    assert (code, out) == (0, f"{tmp_path}/recipe.yaml\n")
    assert err == "train       18 pairs, 18 and 18 words, 16 repeated sentences\n"
    assert "vocabulary_size: " in (tmp_path / "recipe.yaml").read_text()
    assert run("init", "tagging", tmp_path, "--languages", "en-de")[::2] == (
        2, "keraszoo: error: --languages: expected two, such as en-de, for a translator; got en-de\n"
    )  # fmt: skip


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


def test_facts_of_another_name_are_an_error(run, tmp_path):
    write_directory(tmp_path / "mine", {"config.json": {"task": "translation"}})
    (tmp_path / "facts.yaml").write_text("mien: {title: A title}\n")
    code, out, err = run("card", tmp_path / "mine", "--facts", tmp_path / "facts.yaml")
    assert (code, out) == (2, "") and "has no facts of mine, did you mean mien?" in err
    code, out, err = run("card", tmp_path / "mine", "--facts", "")
    assert (code, out) == (2, "") and ": cannot be read: " in err


def test_the_output_of_init_is_checked_first(run, tmp_path):
    (tmp_path / "train.tsv").write_bytes(b"\xff")
    code, _, err = run("init", "translation", tmp_path, "--output", tmp_path / "none" / "recipe.yaml")
    assert code == 2 and "there is no folder" in err


def test_the_hint_after_a_fetch_names_what_is_found(run, tmp_path, monkeypatch):
    write_directory(tmp_path / "small", {"config.json": {"task": "tagging"}})
    hints = []
    fetched = lambda name, source=None, **_: tmp_path / "small"  # noqa: E731
    monkeypatch.setattr("keraszoo.shipping.fetching.fetch", fetched)
    monkeypatch.setattr(console, "hint_at_use", lambda model, task: hints.append(str(model)))
    for arguments in (["small", "--from", "hf://user"], ["small", "--from", "x"], ["hf://user/small"]):
        run("fetch", *arguments)
    assert hints == [str(tmp_path / "small"), "small", "hf://user/small"]


def test_train_takes_a_strategy_and_an_output(run, tmp_path, monkeypatch):
    recipes = []
    monkeypatch.setattr("keraszoo.tasks.recipe_runs.run_recipe", recipes.append)
    values = {"data": {"train": {"source": "train.en", "target": "train.de"}}, "model": {"name": "rnnsearch"}}
    (tmp_path / "recipe.yaml").write_text(json.dumps(values))
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("a\n")
    run("train", tmp_path / "recipe.yaml", "--strategy", "mirrored", "--output", tmp_path / "out")
    assert [(r.training.strategy, r.output) for r in recipes] == [("mirrored", str(tmp_path / "out"))]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "recipe.yaml").rename("folder/recipe.yaml")
    run("train", "folder/recipe.yaml", "--output", "out")
    assert recipes[1].output == str(tmp_path / "out") and recipes[1].as_dict()["output"] == "out"
    said = "keraszoo: error: --set: output: expected a path, got ''\n"
    assert run("train", "folder/recipe.yaml", "--output", "") == (2, "", said) and len(recipes) == 2


def test_several_seeds_of_a_recipe_from_a_pipe(run, tmp_path, monkeypatch):
    runs = []

    def trained(recipe):
        runs.append((recipe.training.seed, recipe.output))
        return SimpleNamespace(metrics={"validation": {"val_bleu": 1.0}})

    monkeypatch.setattr("keraszoo.tasks.seeds.run_recipe", trained)
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    os.write(writer, b"data: {train: {tsv: a}, validation: {tsv: a}}\noutput: x\n")
    os.close(writer)
    code, _, err = run("train", f"/dev/fd/{reader}", "--seeds", "2")
    os.close(reader)
    assert code == 0, err
    assert runs == [(1, str(tmp_path / "x_seed1")), (2, str(tmp_path / "x_seed2"))]
    assert (tmp_path / "x_seeds.json").is_file()


def test_fetch_takes_a_sha256(run, tmp_path, monkeypatch):
    given = []

    def fetch(*arguments, sha256=None, **others):
        given.append((*arguments, sha256))
        return tmp_path

    monkeypatch.setattr("keraszoo.shipping.fetching.fetch", fetch)
    run("fetch", "small", "--from", "x", "--sha256", "ab" * 32)
    assert given == [("small", "x", "ab" * 32)]

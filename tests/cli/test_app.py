"""The command line's own part: options, streams, exit codes and the one line of an error."""

import contextlib
import importlib.metadata
import itertools
import json
import os
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import keraszoo
from keraszoo.cli import app, console
from keraszoo.cli import translator as commands
from keraszoo.saving.model_directory import write_directory
from keraszoo.text.parallel import read_pairs
from keraszoo.translation.results import Hypothesis, Translation

HYPOTHESES = [Hypothesis("A", -1.0, -1.0)]


def pieces(text):
    return [f"\u2581{word}" for word in text.split()]


class Upper:
    """Stands in for a Translator: capital letters are the other language."""

    def __init__(self):
        self.options = None

    def translate(self, sources, **options):
        print("a progress bar")  # as Keras does, on stdout
        self.options = options
        return [source.strip().upper() for source in sources]

    def translate_details(self, sources, **options):
        translations = self.translate(sources, **options)
        return [
            Translation(text, -1.0, pieces(text), pieces(source), np.eye(len(text.split())), HYPOTHESES)
            for source, text in zip(sources, translations, strict=True)
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


def test_help_and_version_import_nothing_large(program):
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
    panels = ((panel, *names) for panel, names in app.COMMANDS.items())
    assert listed == ["Options", *itertools.chain(*panels)]
    assert {"train", "translate", "doctor"} < set(listed)


def test_doctor_reports_versions_devices_precisions_extras_models_and_disk(run):
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    facts = "versions devices precisions extras models disk"
    assert re.findall(r"^\w+", out, re.MULTILINE) == facts.split()
    facts = json.loads(run("doctor", "--json")[1])
    assert f"keras {importlib.metadata.version('keras')}" in facts["versions"]
    assert [line.split(":")[0] for line in facts["precisions"]] == ["float32", "bfloat16", "float16"]
    free = float(facts["disk"][0].split(" GB")[0])
    assert free == pytest.approx(shutil.disk_usage(".").free / 1e9, abs=2)
    assert not any("test:" in line for line in facts["extras"])  # or these tests could not run


def test_doctor_goes_on_where_something_is_wrong(run, monkeypatch):
    monkeypatch.setenv("KERASZOO_PRETRAINED", "/nowhere")
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if it were not installed
    code, out, err = run("doctor")
    assert (code, err) == (0, "") and "TensorFlow cannot be imported: " in out
    assert "models      /nowhere: KERASZOO_PRETRAINED names no directory" in out and "\ndisk " in out


def test_the_version_and_the_help_without_arguments(run):
    assert run("--version") == (0, f"keraszoo {keraszoo.__version__}\n", "")
    code, out, _ = run()
    assert code == 0 and out.strip().startswith("Usage: keraszoo ")


def test_a_help_that_nobody_reads_ends_as_any_output(program):
    process = program("--help")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("code", [0, 1, 3, 143])
def test_the_status_of_a_command_is_kept(run, monkeypatch, code):
    def end(*arguments, **options):
        raise SystemExit(code)

    monkeypatch.setattr(app, "app", end)
    assert run("list") == (code, "", "")


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


@pytest.mark.parametrize("option", [["--json"], ["--n-best", "2"], ["--attention"]])
def test_translate_as_json_lines(run, translator, option):
    code, out, _ = run("translate", "m", *option, stdin=b"a dog\n\n")
    first, blank = map(json.loads, out.splitlines())
    assert first["text"] == "A DOG" and blank["text"] == ""
    assert ("attention_weights" in first) == (option == ["--attention"])
    assert translator.options == ({"num_hypotheses": 2} if "--n-best" in option else {})


def test_evaluate_as_a_table_and_as_json_and_score_one_number_a_line(run, translator, tmp_path):
    (tmp_path / "source").write_text("the cat sat on the mat\n")
    (tmp_path / "target").write_text("THE CAT SAT ON THE MAT\n")
    arguments = ["evaluate", "m", "--source", f"{tmp_path}/source", "--references", f"{tmp_path}/target"]
    code, out, _ = run(*arguments)
    assert code == 0 and "BLEU" in out and "100.00" in out and "nrefs:1" in out
    scores = json.loads(run(*arguments, "--json")[1])
    assert scores["bleu"]["score"] == pytest.approx(100) and scores["sentences"] == 1
    (tmp_path / "source").write_text("a\nb\n")
    (tmp_path / "target").write_text("xyz\nx\n")
    arguments = ["--source", f"{tmp_path}/source", "--target", f"{tmp_path}/target"]
    assert run("score", "m", *arguments)[:2] == (0, "-1.000000\n-0.333333\n")


def test_plot_runs_draws_the_histories_of_directories(run, tmp_path):
    pytest.importorskip("matplotlib")
    for name in "ab":
        metrics = {"training": {"steps": 9, "loss": [2.0, 1.0]}}
        write_directory(tmp_path / name, {"config.json": {}, "metrics.json": metrics})
    picture = tmp_path / "runs.svg"
    assert run("plot-runs", tmp_path / "a", tmp_path / "b", "--output", picture) == (0, f"{picture}\n", "")
    assert b"<svg" in picture.read_bytes()
    assert run("plot-runs", tmp_path / "a", "--output", tmp_path / "c") == (0, f"{tmp_path / 'c.png'}\n", "")
    assert (tmp_path / "c.png").is_file()


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
        (["translate", "m", "no such file"], "no such file: cannot read: No such file"),
        (["translate", "m", "/"], "/: cannot read: Is a directory"),
        (["plot", "m", " ", "out.png"], "expected a sentence, got a blank one"),
        (["plot", "m", "a dog", "/dev/null/x.png"], "/dev/null"),
        (["export", "m", "x", "--verify", "/dev/null"], "/dev/null: expected at least one line, got none"),
        (["plot", "m", "a dog", "x.html"], "x.html: cannot be drawn: expected an ending of "),
        (["subwords", "train", "no-file", "--output", "x"], "no-file: cannot read"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(refusal, translator, arguments, said):
    assert said in refusal(*arguments)


def test_a_bad_line_comes_after_the_answers_to_the_good_ones(run, translator):
    code, out, err = run("translate", "m", stdin=b"fine\n" * 512 + b"not \xff text\n")
    assert code == 2 and out == "FINE\n" * 512
    said = "keraszoo: error: <stdin>:513: not UTF-8: byte 0xff at byte 5 of the line"
    assert err.splitlines()[-1] == said


def test_pairs_are_cleaned_and_held_out(run, refusal, tmp_path):
    pairs = [(f"One {i}.", f"Eins {i}.") for i in range(20)]
    lines = [*("\t".join(pair) for pair in pairs), "One 3.\tEins drei.", "One 4.\tEins 4.", "\tNichts"]
    (tmp_path / "all.tsv").write_text("\n".join(lines) + "\n")
    code, out, err = run("pairs", tmp_path / "all.tsv", "--output", tmp_path / "new", "--validation", 3)
    assert code == 0 and all(text in err for text in ("23 pairs", "1 blank", "1 duplicate"))
    assert out.splitlines() == [str(tmp_path / "new" / f"{name}.tsv") for name in ("val", "train")]
    val, train = (list(read_pairs(file)) for file in out.split())
    assert len({source for source, _ in val}) == 3 and len(val) + len(train) == 21
    assert not {source for source, _ in val} & {source for source, _ in train}
    wrong = {"new": "exists already and is not overwritten", "b": "cannot hold out 99 of 20 source sentences"}
    for name, said in wrong.items():
        assert said in refusal("pairs", tmp_path / "all.tsv", "--output", tmp_path / name, "--test", 99)


def test_init_writes_a_recipe_and_reports_on_stderr(run, tmp_path):
    (tmp_path / "train.tsv").write_text("one\teins\ntwo\tzwei\n" * 9)
    code, out, err = run("init", "translation", tmp_path)
    assert (code, out) == (0, f"{tmp_path}/recipe.yaml\n")
    assert err == "train       18 pairs, 18 and 18 words, 16 repeated sentences\n"
    assert "vocabulary_size: " in (tmp_path / "recipe.yaml").read_text()
    said = "keraszoo: error: --languages has no effect with tagging; leave it out\n"
    assert run("init", "tagging", tmp_path, "--languages", "en-de")[::2] == (2, said)


def test_facts_of_another_name_are_an_error(refusal, tmp_path):
    write_directory(tmp_path / "mine", {"config.json": {"task": "translation"}})
    (tmp_path / "facts.yaml").write_text("mien: {title: A title}\n")
    for facts, said in (
        (tmp_path / "facts.yaml", "has no facts of mine, did you mean mien?"),
        ("", ": cannot be read: "),
    ):
        assert said in refusal("card", tmp_path / "mine", "--facts", facts)


def test_fetch_takes_a_sha256_and_hints_at_what_is_found(run, tmp_path, monkeypatch):
    write_directory(tmp_path / "small", {"config.json": {"task": "tagging"}})
    given, hints = [], []

    def fetch(*arguments, sha256=None, **others):
        given.append((*arguments, sha256))
        return tmp_path / "small"

    monkeypatch.setattr("keraszoo.shipping.fetching.fetch", fetch)
    monkeypatch.setattr("keraszoo.converters.download.published", lambda name: contextlib.nullcontext())
    monkeypatch.setattr(console, "hint_at_use", lambda model, task: hints.append(str(model)))
    run("fetch", "small", "--from", "x", "--sha256", "ab" * 32)
    run("fetch", "hf://user/small")
    assert given[0] == ("small", "x", "ab" * 32) and hints == ["small", "hf://user/small"]


def test_train_takes_a_strategy_and_an_output(run, tmp_path, monkeypatch):
    recipes = []
    monkeypatch.setattr("keraszoo.recipes.runs.run_recipe", recipes.append)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/recipe.yaml").write_text("data: {train: {tsv: train.tsv}}\n")
    train = "train", "folder/recipe.yaml", "--strategy", "mirrored", "--output"
    assert run(*train, "out")[:2] == (0, f"{tmp_path / 'out'}\n")
    (recipe,) = recipes
    assert (recipe.training.strategy, recipe.path(recipe.output)) == ("mirrored", str(tmp_path / "out"))
    assert recipe.as_dict()["output"] == "out"
    said = "keraszoo: error: --set: output: expected a path, got ''\n"
    assert run(*train, "") == (2, "", said) and len(recipes) == 1


def test_several_seeds_of_a_recipe_from_a_pipe(run, tmp_path, monkeypatch):
    runs = []

    def trained(recipe):
        runs.append((recipe.training.seed, recipe.path(recipe.output)))
        return SimpleNamespace(metrics={"validation": {"val_bleu": 1.0}})

    monkeypatch.setattr("keraszoo.recipes.seeds.run_recipe", trained)
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    os.write(writer, b"data: {train: {tsv: a}, validation: {tsv: a}}\noutput: x\n")
    os.close(writer)
    code, _, err = run("train", f"/dev/fd/{reader}", "--seeds", "2")
    os.close(reader)
    assert code == 0, err
    assert runs == [(1, str(tmp_path / "x_seed1")), (2, str(tmp_path / "x_seed2"))]
    assert (tmp_path / "x_seeds.json").is_file()

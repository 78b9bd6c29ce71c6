"""The snippets of the guides run, Python and shell, page by page in their order, on small files.

The pages share a folder: export.md loads the models that training.md and tagging.md write.
"""

import contextlib
import gzip
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from number_words import number_pairs

from keraszoo.cli import app
from keraszoo.recipes.runs import read_recipe
from keraszoo.text.lines import write_lines

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(python|sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r'(?:echo "(?P<stdin>.*)" \| )?(?:\.venv/bin/)?keraszoo (?P<arguments>.*?)(?: > (?P<stdout>\S+))?'
)
# Small data need few subwords and updates; everything else is as on the page.
SHORTER = {
    "vocabulary_size: 6000": "vocabulary_size: 110",
    "vocabulary_size=6000": "vocabulary_size=110",
    "epochs: 30": "epochs: 2",
    "epochs: 60": "epochs: 2",
    "epochs=10": "epochs=2",
    "--width 200": "--width 20",
}
TAGGED = "Aspirin\tB-Chemical\nmay\tO\ncause\tO\nasthma\tB-Disease\n.\tO\n\n"
GUIDES = "start/layer training fine_tuning tagging answering export layers data searching documents "
GUIDES += "evaluation adding coming_from/delft coming_from/opennmt_tf"
LEAST = {
    "translation": {
        "data": {"train": {"tsv": "t"}, "validation": {"tsv": "v"}},
        "model": {"name": "transformer"},
    },
    "tagging": {"data": {"train": "t"}, "model": {"name": "recurrent"}},
}
RECIPES = [
    text
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    for kind, text in FENCE.findall(page.read_text("utf-8"))
    if kind == "yaml"
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_encoders):
    """The files that the snippets read, shared by the pages: a page finds the models of those before it."""
    folder = tmp_path_factory.mktemp("snippets")
    pairs = number_pairs(range(300))
    for part, some in {"train": pairs, "val": pairs[:20], "test": pairs[:10], "input": pairs[:3]}.items():
        for side, lines in zip(("en", "de"), zip(*some, strict=True), strict=True):
            write_lines(folder / f"{part}.{side}", lines)
    write_lines(folder / "corpus.tsv", map("\t".join, pairs))
    for part in ("train", "devel", "test"):
        (folder / f"{part}.tsv").write_text(TAGGED * 40)
    write_lines(folder / "text.txt", ["Aspirin may cause asthma in Paris ."] * 50)
    with gzip.open(folder / "text.txt.gz", "wt") as file:
        file.write("Aspirin may cause asthma .\n" * 50)
    shutil.copytree(tiny_encoders / "bert", folder / "all-MiniLM-L6-v2")
    write_lines(folder / "checked.jsonl", ['{"text": "Asthma.", "spans": []}'])
    write_lines(folder / "texts.jsonl", ['{"text": "Aspirin may cause asthma.", "id": 7}'])
    return folder


@pytest.mark.parametrize("text", RECIPES)
def test_the_recipes_of_the_guides_have_no_wrong_key(text, tmp_path):
    values = {"output": "m", **yaml.safe_load(text)}
    least = LEAST[values.get("task", "translation")]
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**least, **values}))
    read_recipe(tmp_path / "recipe.yaml", [])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The exports that docs/light.md reads."""
    pytest.importorskip("ctranslate2")
    pytest.importorskip("tf2onnx")
    from keraszoo import EntityTagger, Translator

    folder = tmp_path_factory.mktemp("light")
    translator = Translator.from_preset("tatoeba_en_de_student")
    translator.export(folder / "exported" / "ct2", format="ctranslate2", quantize="int8")
    translator.export(folder / "exported" / "onnx_translator", format="onnx")
    EntityTagger.from_preset("english_entities").export(folder / "exported" / "onnx_tagger", format="onnx")
    return folder


LIGHT = [
    text for kind, text in FENCE.findall((ROOT / "docs/light.md").read_text("utf-8")) if kind == "python"
]


@pytest.mark.slow
@pytest.mark.parametrize("text", LIGHT, ids=lambda text: text.splitlines()[0])
def test_light_path_snippets_run_without_tensorflow(text, exported):
    pytest.importorskip("jax")
    code = f"import sys; sys.modules['tensorflow'] = None\n{text}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    options = {"env": environment, "cwd": exported, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", code], **options)
    assert done.returncode == 0, done.stderr
    for expected in re.findall(r"  # (\['Wo.*|Wo .*)", text):
        assert expected in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in GUIDES.split())])
def test_the_snippets_of_a_page_run(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for checkpoints in folder.glob("runs/*.checkpoints"):  # of another page's recipe
        shutil.rmtree(checkpoints)
    names = {"sources": ["one", "two"], "references": ["eins", "zwei"], "tokens": np.array([2])}
    names |= {"source": np.array([[4, 5, 3]]), "target_in": np.array([[2, 6]])}
    for kind, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        if kind == "python":
            exec(compile(text, page, "exec"), names)  # noqa: S102 - our own pages
        elif kind == "yaml" and (name := re.match(r"# (\w+\.yaml)\n", text)):
            Path(name[1]).write_text(text, encoding="utf-8")
        elif kind == "sh":
            for line in filter(None, text.splitlines()):
                run(line, monkeypatch)


def run(line, monkeypatch):
    """Runs a line of the shell, a `keraszoo` command, in this process."""
    line = line.split(" #")[0].strip()
    command = COMMAND.fullmatch(line)
    assert command, f"not a command of keraszoo: {line}"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{command['stdin'] or ''}\n".encode())))
    with (
        open(command["stdout"] or "output.txt", "w", encoding="utf-8") as output,
        contextlib.redirect_stdout(output),
        pytest.raises(SystemExit) as ended,
    ):
        app.main(shlex.split(command["arguments"]))
    assert not ended.value.code, line

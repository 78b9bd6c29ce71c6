"""Builds the sdist and the wheel into dist/, and tests the wheel in clean environments, outside of the clone.

    python tools/release.py                          # every Python here, newest and oldest versions
    python tools/release.py --only 3.11-locked       # one environment, with the versions of constraints.txt

An environment runs the snippets of README.md and the commands of a first hour, without a network. `light` has
Keras, JAX and the engines, but no TensorFlow: it runs docs/light.md, layers, models and search.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
MOST_BYTES = 45 << 20  # of the wheel
ENVIRONMENTS = ("3.11-newest", "3.11-oldest", "3.12-newest", "3.13-newest", "3.11-light")
FENCE = re.compile(r"^```(python|sh|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHORTER = {"vocabulary_size: 6000": "vocabulary_size: 110", "epochs: 30": "epochs: 1"}
LIGHT = "keras jax onnxruntime ctranslate2 filelock pydantic pyyaml safetensors sentencepiece sentencex"
COMMANDS = f"""
keraszoo --version
keraszoo list
echo "Where did you park the car?" | keraszoo translate tatoeba_en_de_student > translated.txt
grep geparkt translated.txt
echo "Marie Curie lived in Paris." | keraszoo tag english_entities > tagged.jsonl
grep "Marie Curie" tagged.jsonl
keraszoo fetch babi_memory_network --from {ROOT / "pretrained"}
keraszoo list | grep babi_memory_network | grep cache
"""


def main():
    """Builds, then tests one environment after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", metavar="PYTHON-VERSIONS", default=ENVIRONMENTS)
    wanted = parser.parse_args().only
    wheel = build()
    with tempfile.TemporaryDirectory(prefix="keraszoo-release-") as folder:
        for name in wanted:
            started = time.monotonic()
            done = test(wheel, name, Path(folder, name))
            print(f"{name}: {done} ({time.monotonic() - started:.0f} s)", flush=True)


def build():
    """Builds both archives; the wheel is built from the sdist. Returns the path of the wheel."""
    for old in DIST.glob("keraszoo-*"):
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], ROOT)
    archives = sorted(DIST.glob("keraszoo-*"))
    for archive in archives:
        print(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 1e6:.1f} MB", flush=True)
    (wheel,) = (path for path in archives if path.suffix == ".whl")
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"{wheel.name}: larger than {MOST_BYTES >> 20} MB")
    return wheel


def test(wheel, name, folder):
    """Makes one environment in a new folder, installs the wheel, runs everything; returns what was tested."""
    python, _, versions = name.partition("-")
    found = interpreter(python)
    if found is None:
        return f"skipped: no Python {python} on this machine"
    work = folder / "work"
    work.mkdir(parents=True)
    run([found, "-m", "venv", folder / "venv"], folder)
    program = folder / "venv" / "bin" / "python"
    install = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if versions == "light":
        run([*install, *LIGHT.split()], folder)
        run([*install, "--no-deps", wheel], folder)
        return test_light(folder, work)
    if versions == "newest":
        run([*install, wheel], folder)
    else:
        fixed = ROOT / "constraints.txt"
        if versions == "oldest":
            fixed = folder / "oldest.txt"
            lowest = ["--resolution", "lowest-direct", "--python-version", python, "--output-file", fixed]
            compile_ = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-annotate"]
            run([*compile_, ROOT / "pyproject.toml", *lowest], folder)
        run([*install, "--constraint", fixed, wheel], folder)
    write_corpus(work)
    environment = offline(folder)
    shell(COMMANDS, work, environment)
    snippets = 0
    for kind, text in FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        if kind == "python":
            run([program, "-c", text], work, environment)
        elif kind == "sh":
            shell(text, work, environment)
        else:
            Path(work, re.match(r"# (\S+)\n", text)[1]).write_text(text, encoding="utf-8")
        snippets += 1
    listed = subprocess.run([program, "-m", "pip", "list"], capture_output=True, text=True).stdout
    versions = re.findall(r"^(keras|numpy|tensorflow) +(.*)$", listed, re.MULTILINE)
    return f"{snippets} snippets and the commands run on {', '.join(map(' '.join, versions))}"


def interpreter(version):
    """The path of a Python of this version, on PATH or installed by pyenv; `None`: there is none."""
    folders = [*os.environ["PATH"].split(os.pathsep), *Path.home().glob(".pyenv/versions/*/bin")]
    for found in (Path(folder, f"python{version}") for folder in folders):
        if found.exists() and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    return None


def test_light(folder, work):
    """Runs what needs no TensorFlow: exports made by this interpreter, and layers, models, search on JAX."""
    exports = {"ct2": "ctranslate2", "onnx_translator": "onnx", "onnx_tagger": "onnx"}
    for target, format_ in exports.items():
        model = "english_entities" if target == "onnx_tagger" else "tatoeba_en_de_student"
        command = [sys.executable, "-m", "keraszoo", "export", model, work / "exported" / target]
        run([*command, "--format", format_], ROOT)
    environment = offline(folder) | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    program = folder / "venv" / "bin" / "python"
    page = (ROOT / "docs" / "light.md").read_text(encoding="utf-8")
    snippets = [text for kind, text in FENCE.findall(page) if kind == "python"]
    for text in snippets:
        run([program, "-c", text], work, environment)
    return f"{len(snippets)} snippets of docs/light.md run without TensorFlow"


def write_corpus(folder):
    """Writes a small parallel corpus: the target has the words of the source in reverse order."""
    draw = random.Random(0)
    parts = "ka lo mi ru te bo".split()
    words = [a + b + c for a in parts for b in parts for c in parts]
    for part, count in {"train": 300, "val": 20, "test": 10}.items():
        lines = [draw.choices(words, k=draw.randint(3, 6)) for _ in range(count)]
        for side, step in {"en": 1, "de": -1}.items():
            text = "".join(" ".join(line[::step]) + "\n" for line in lines)
            Path(folder, f"{part}.{side}").write_text(text, encoding="utf-8")


def offline(folder):
    """The variables of a process that has the new environment first, an empty home and no network."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3", **nowhere}


def shell(commands, folder, environment):
    """Runs lines of the shell, up to the first that fails."""
    run(["bash", "-euo", "pipefail", "-c", commands], folder, environment)


def run(command, folder, environment=None):
    """Runs a command; shows its output and ends with an error if it fails."""
    command = [str(part) for part in command]
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed in {folder}: {' '.join(command)}")


if __name__ == "__main__":
    main()

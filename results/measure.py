"""Runs the commands of a file of `results/` again, and stores the figures that they print.

    export DATA=/folder/of/the/corpora
    python experiments/entities.py prepare $DATA                # and tatoeba.py, as RESULTS.md says
    python results/measure.py english_entities                  # all commands of a file
    python results/measure.py english_entities newswire         # one of them
    python results/render.py                                    # then the tables of the pages

Each entry of a file has a `command`, whose last line of output is JSON, and that line under `figures`. To
measure something new, add an entry with a command alone. Files with `rows` hold tables of trainings that take
hours: their command is in them, and this script does not run it.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAMS = {"python": [sys.executable], "keraszoo": [sys.executable, "-m", "keraszoo"]}


def read(name):
    """Returns the content of `results/NAME.json`, a dict."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        raise SystemExit(f"{path}: there is no such file")
    return json.loads(path.read_text(encoding="utf-8"))


def write(name, content):
    """Writes `results/NAME.json`."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def figures_of(command):
    """Runs a command in the root of the clone; returns the JSON in its last line, without empty lists."""
    words = shlex.split(os.path.expandvars(command))
    if "$" in " ".join(words):
        raise SystemExit(f"{command}: set the variables, such as DATA")
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}
    done = subprocess.run(
        [*PROGRAMS[words[0]], *words[1:]],
        cwd=FOLDER.parent,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit status {done.returncode}")
    figures = json.loads(done.stdout.splitlines()[-1])
    figures.pop("confusion", None)  # of a tagger: every pair of labels
    return figures


def main(name, *chosen):
    """Runs the commands of a file, or those of the chosen entries, and stores each result at once."""
    entries = read(name)
    if "rows" in entries:
        raise SystemExit(f"results/{name}.json: a table of trainings; its command is {entries['command']}")
    unknown = [key for key in chosen if key not in entries]
    if unknown:
        raise SystemExit(f"results/{name}.json: no entry {unknown[0]}; it has {', '.join(entries)}")
    for key in chosen or entries:
        entries[key]["figures"] = figures_of(entries[key]["command"])
        write(name, entries)
        print(f"{name}, {key}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])

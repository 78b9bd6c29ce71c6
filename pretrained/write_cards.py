"""Rewrite the cards of the shipped models, the tables in their README.md and the index of the package.

    python pretrained/write_cards.py

Run it after adding a model, or changing its facts or figures. Facts come from `models.yaml` in this folder,
figures of tests from `results/NAME.json`, those of the training from each `metrics.json`. A test compares the
files with what this would write.
"""

import json
from pathlib import Path

from keraszoo.saving import model_card, model_directory, model_facts
from keraszoo.shipping import cache, shipped

FACTS, README = "models.yaml", "README.md"
RESULTS = Path(__file__).parent.parent / "results"
OF_TRAINING = {"training", "validation"}  # sections of metrics.json that no command prints again
BEGIN, END = "<!-- written by write_cards.py -->", "<!-- to here -->"


def write(folder):
    """Writes cards, tables and index for a folder of model directories."""
    folder = Path(folder)
    facts = model_facts.read_facts(folder / FACTS)
    directories = {name: folder / name for name in model_directory.names_in(folder)}
    for name, directory in directories.items():
        measured = measured_figures(name)
        old = model_directory.read_directory(directory).metrics.keys() - OF_TRAINING
        model_card.rewrite_card(directory, facts.get(name), {**dict.fromkeys(old), **measured})
    page = folder / README
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{tables(directories)}{END}{after}", encoding="utf-8")
    text = json.dumps(index(directories), indent=1, ensure_ascii=False)
    cache.INDEX.write_text(f"{text}\n", encoding="utf-8")
    for directory in directories.values():
        print(directory)


def measured_figures(name):
    """Returns the sections of metrics that `results/NAME.json` holds, without their lists."""
    entries = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return {
        section: {key: it for key, it in entry["figures"].items() if not isinstance(it, list)}
        for section, entry in entries.items()
    }


def index(directories):
    """Returns what the package states about each model, including models that are not on the machine."""
    read = {name: model_directory.read_directory(directory) for name, directory in directories.items()}
    return {
        name: {"about": model_facts.describe(directory), "manifest": directory.manifest}
        for name, directory in read.items()
    }


def tables(directories):
    """Returns a table of the translation models and a table of the others, in Markdown."""
    read = {name: model_directory.read_directory(directory) for name, directory in directories.items()}
    translation = {name: d for name, d in read.items() if d.config["task"] == "translation"}
    others = {name: d for name, d in read.items() if name not in translation}
    lines = ["| name | model | parameters | size | BLEU | chrF2 |", "|---|---|---|---|---|---|"]
    for name, directory in translation.items():
        test = directory.metrics["test"]
        lines.append(f"{_row(name, directory)} {test['bleu']['score']:.2f} | {test['chrf']['score']:.1f} |")
    lines += ["", "| name | model | parameters | size | score |", "|---|---|---|---|---|"]
    for name, directory in others.items():
        score = model_facts.describe(directory)["score"]
        lines.append(f"{_row(name, directory)} {shipped.score_text(score)} |")
    return "".join(f"{line}\n" for line in lines)


def _row(name, directory):
    facts = directory.config["about"]
    size = sum(path.stat().st_size for path in directory.path.iterdir()) / 1e6
    megabytes = f"{size:.0f}" if size >= 1 else f"{size:.1f}"
    millions = facts["parameters"] / 1e6
    millions = f"{millions:.1f}" if millions >= 1 else f"{millions:.2g}"
    return f"| `{name}` | {facts['title']} | {millions} M | {megabytes} MB |"


if __name__ == "__main__":
    write(Path(__file__).parent)

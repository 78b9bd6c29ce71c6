"""What is known about a model beside its weights: facts in `config.json`, and cards and lists made of them.

    "about": {"title": "...", "pipeline_tag": "translation", "summary": "...", "example": ["..."],
              "parameters": 8090624, "languages": ["en", "de"], "licence": "cc-by-2.0", ...}

The first five a program knows and writes; the others are told by people, in a YAML file of `keraszoo card`:

    name           the name under which the model ships
    languages      list of codes
    licence        of the weights, as model hubs write it
    tags, metrics  lists of words, as model hubs have them
    data           list of {name, id, url, licence, note}
    score          the one figure for lists: {name, section, figure}, the last two keys of `metrics.json`, and
                   perhaps `data`, what it was measured on, if that is not the first of the data
    intended_use, limits, training, evaluation, attribution
                   Markdown; training and evaluation give their commands
"""

import math
from pathlib import Path

import yaml

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.saving.model_card import SECTIONS, model_card
from keraszoo.saving.weights import stored_shapes

CARD = "README.md"
OWN = ("title", "pipeline_tag", "summary", "example", "parameters")
LISTS = ("languages", "tags", "metrics", "example", "data")
TEXTS = ("name", "licence", "title", "pipeline_tag", "summary", *SECTIONS)
FACTS = (*TEXTS, *LISTS, "parameters", "score")
KEPT = ("languages", "licence", "tags", "data", "attribution")
DATA = {"name", "id", "url", "licence", "note"}
SCORE = {"name", "section", "figure"}


def card(about, metrics):
    """The card that facts and figures make; see `keraszoo.saving.model_card`."""
    facts = {key: value for key, value in about.items() if key not in OWN}
    return model_card(
        about.get("title", "A model"),
        about.get("pipeline_tag", "other"),
        about.get("summary", ""),
        about.get("example", []),
        metrics,
        facts,
    )


def told(directory):
    """The facts in the `config.json` of a directory, unknown ones left out; PresetError for wrong ones."""
    facts = directory.config.get("about", {})
    if isinstance(facts, dict):
        facts = {key: value for key, value in facts.items() if key in FACTS}
    return check_facts(facts, f"{directory.path}: config.json")


def kept(directory):
    """The facts that stay true of a model that is trained further and saved under another name."""
    return {key: value for key, value in told(directory).items() if key in KEPT}


def rewrite(path, facts=None, metrics=None):
    """Writes the card and the manifest of a model directory anew; the other files stay what they are.

    Args:
        path: the directory.
        facts: dict of facts that are added to those in its `config.json`, or take their places.
        metrics: dict of sections that are added to `metrics.json`, or take their places.

    Raises:
        PresetError: the directory is damaged, or a fact is unknown or of another kind.
    """
    directory = model_directory.read_directory(path)
    about = {**told(directory), **check_facts(facts or {}, path)}
    if "parameters" not in about:
        about["parameters"] = sum(
            math.prod(shape)
            for name in directory.names
            if name.endswith(".weights.h5")
            for shape in stored_shapes(directory.file(name))
        )
    metrics = {**directory.metrics, **(metrics or {})}
    files = {name: directory.read_bytes(name) for name in directory.names}
    files["config.json"] = {**directory.config, "about": about}
    if metrics:
        files["metrics.json"] = metrics
    files[CARD] = card(about, metrics)
    model_directory.write_directory(path, files)


def read_facts(path):
    """Reads a YAML file of facts by the name of the model.

    Raises:
        PresetError: it is no such file, or a fact is unknown or of another kind.
    """
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PresetError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise PresetError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(entries, dict):
        raise PresetError(f"{path}: expected facts by the names of models, got {type(entries).__name__}")
    names = [name for name in entries if not str(name).startswith(".")]  # others are there to be referred to
    return {name: check_facts(entries[name], f"{path}: {name}") for name in names}


def check_facts(facts, where):
    """Returns the facts; PresetError if one is unknown or of another kind."""
    if not isinstance(facts, dict):
        raise PresetError(f"{where}: expected facts by name, got {type(facts).__name__}")
    for key, value in facts.items():
        if key not in FACTS:
            raise PresetError(f"{where}: there is no fact {key!r}; there are {', '.join(FACTS)}")
        if key in TEXTS and not isinstance(value, str):
            raise PresetError(f"{where}: {key} must be text, got {type(value).__name__}")
        if key in LISTS and not isinstance(value, list):
            raise PresetError(f"{where}: {key} must be a list, got {type(value).__name__}")
        if key in LISTS and key != "data" and not all(isinstance(item, str) for item in value):
            raise PresetError(f"{where}: {key} must be a list of words")
        if key == "parameters" and type(value) is not int:
            raise PresetError(f"{where}: parameters must be a whole number, got {type(value).__name__}")
    for data in facts.get("data", []):
        if not _has_texts(data, DATA - {"note"}, DATA):
            raise PresetError(f"{where}: an entry of data has {', '.join(sorted(DATA))}, got {data!r:.80}")
    if "score" in facts and not _has_texts(facts["score"], SCORE, SCORE | {"data"}):
        raise PresetError(f"{where}: score has {', '.join(sorted(SCORE))}, got {facts['score']!r:.80}")
    return facts


def _has_texts(value, least, most):
    return (
        isinstance(value, dict)
        and least <= set(value) <= most
        and all(isinstance(text, str) for text in value.values())
    )


def describe(directory):
    """One model in a list.

    Args:
        directory: a `model_directory.Directory`.

    Returns:
        A dict: `task`, `languages` (list), `size` in bytes, `parameters`, `score` (a dict of `name` and
        `value`) and `licence`; `None` where nothing is known.
    """
    about = told(directory)
    return {
        "task": str(directory.config.get("task")),
        "languages": about.get("languages", []),
        "size": sum(entry["size"] for entry in directory.manifest["files"].values()),
        "parameters": about.get("parameters"),
        "score": _score(about.get("score"), directory.metrics),
        "licence": about.get("licence"),
    }


def _score(told, metrics):
    """The headline figure; without one that of a translation test, if there is one."""
    told = told or {"name": "BLEU", "section": "test", "figure": "bleu"}
    section = metrics.get(told["section"])
    figure = section.get(told["figure"]) if isinstance(section, dict) else None
    value = figure.get("score") if isinstance(figure, dict) else figure
    if not isinstance(value, (int, float)):
        return None
    return {"name": told["name"], "value": round(value, 2)}

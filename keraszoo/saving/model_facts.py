"""Facts about a model, stored in its `config.json`, and its entry in a list; `model_card` shows them.

    "about": {"title": "...", "pipeline_tag": "translation", "summary": "...", "example": ["..."],
              "parameters": 8090624, "languages": ["en", "de"], "licence": "cc-by-2.0", ...}

Programs write the first five. People write the others in a YAML file for `keraszoo card`; see `Facts`.
"""

from keraszoo.errors import PresetError
from keraszoo.saving import yaml_text
from keraszoo.saving.entries import Entries, checked

LASTING = ("languages", "licence", "tags", "data", "attribution")


class Data(Entries):
    """A corpus that a model was trained on."""

    name: str
    id: str
    url: str
    licence: str
    note: str = ""


class Score(Entries):
    """The main figure of a model: `metrics[section][figure]`, measured on `data` or on the first corpus."""

    name: str
    section: str
    figure: str
    data: str = ""


class Facts(Entries):
    """The facts that a model directory may state.

    Attributes:
        name: the name under which the model ships.
        licence: of the weights, spelled as on model hubs.
        title: the first heading of the card.
        pipeline_tag: the task, spelled as on model hubs.
        summary: a paragraph.
        intended_use, limits, training, evaluation, attribution: sections of the card in Markdown.
        languages: codes of the languages.
        tags, metrics: words, as on model hubs.
        example: lines of Python that load and use the model.
        data: the training corpora.
        parameters: the number of weights.
        score: the main figure.
    """

    name: str = ""
    licence: str = ""
    title: str = ""
    pipeline_tag: str = ""
    summary: str = ""
    intended_use: str = ""
    limits: str = ""
    training: str = ""
    evaluation: str = ""
    attribution: str = ""
    languages: list[str] = []
    tags: list[str] = []
    metrics: list[str] = []
    example: list[str] = []
    data: list[Data] = []
    parameters: int = 0
    score: Score = None


def check_facts(facts, where):
    """Returns `facts`, a dict. Raises PresetError, starting with `where`, for unknown or wrong facts."""
    checked(Facts, facts, where)
    return facts


def read_facts(path):
    """Reads a YAML file of facts by the names of models; names with a dot are ignored, `<<` adds an alias."""
    entries = yaml_text.parse(yaml_text.read_text(path, PresetError), path, PresetError, aliases=True)
    if not isinstance(entries, dict):
        raise PresetError(f"{path}: expected facts by the names of models, got {type(entries).__name__}")
    facts = {}
    for name, entry in entries.items():
        if not str(name).startswith("."):
            shared = entry.get("<<") if isinstance(entry, dict) else None
            if isinstance(shared, dict):
                entry = {**shared, **{key: value for key, value in entry.items() if key != "<<"}}
            facts[str(name)] = check_facts(entry, f"{path}: {name}")
    return facts


def stored_facts(directory):
    """Returns the known facts in the `config.json` of a `Directory`. Raises PresetError for wrong ones."""
    facts = directory.config.get("about", {})
    if isinstance(facts, dict):
        facts = {key: value for key, value in facts.items() if key in Facts.model_fields}
    return check_facts(facts, f"{directory.path}: config.json")


def lasting_facts(directory):
    """Returns the facts that remain true if the model is trained further and saved under another name."""
    return {key: value for key, value in stored_facts(directory).items() if key in LASTING}


def common_facts(facts):
    """Returns the facts that all models of a list share, and the corpora and attributions of all."""
    common = {key: value for key, value in facts[0].items() if all(it.get(key) == value for it in facts)}
    data = [corpus for it in facts for corpus in it.get("data", [])]
    texts = dict.fromkeys(it["attribution"].strip() for it in facts if "attribution" in it)
    joined = {
        "data": [corpus for i, corpus in enumerate(data) if corpus not in data[:i]],
        "attribution": "\n\n".join(texts),
    }
    return {**common, **{key: value for key, value in joined.items() if value}}


def describe(directory):
    """Describes the model of a `Directory` for a list: a dict, in which unknown values are `None`."""
    facts = stored_facts(directory)
    return {
        "task": str(directory.config.get("task")),
        "languages": facts.get("languages", []),
        "size": sum(entry["size"] for entry in directory.manifest["files"].values()),
        "parameters": facts.get("parameters"),
        "score": main_score(facts.get("score"), directory.metrics),
        "licence": facts.get("licence"),
    }


def main_score(score, metrics):
    """Returns the main figure: the one named by the facts, or BLEU of the section "test" if there is one."""
    score = score or {"name": "BLEU", "section": "test", "figure": "bleu"}
    section = metrics.get(score["section"])
    figure = section.get(score["figure"]) if isinstance(section, dict) else None
    value = figure.get("score") if isinstance(figure, dict) else figure
    return {"name": score["name"], "value": round(value, 2)} if is_number(value) else None


def is_number(value):
    """Whether a value can be printed as a float: a file may hold an integer of thousands of digits."""
    return isinstance(value, (int, float)) and abs(value) < 1e15

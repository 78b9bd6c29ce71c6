"""Store facts about a model in `config.json`, and write its card and its entry in a list from them.

    "about": {"title": "...", "pipeline_tag": "translation", "summary": "...", "example": ["..."],
              "parameters": 8090624, "languages": ["en", "de"], "licence": "cc-by-2.0", ...}

Programs write the first five. People write the others in a YAML file for `keraszoo card`; see `Facts`.
"""

import textwrap

import yaml

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory, yaml_text
from keraszoo.saving.entries import Entries, checked

CARD = "README.md"
SECTIONS = {  # the facts in Markdown, in the order of the card
    "intended_use": "Intended use",
    "limits": "Limits",
    "training": "How it was trained",
    "evaluation": "Getting the figures again",
    "attribution": "Attribution",
}
# Marks metrics sections measured on another kind of data than the training data.
OUTSIDE = "out of its domain"
FRONT = {"licence": "license", "languages": "language", "tags": "tags"}  # our name -> the name on model hubs
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
    if not isinstance(facts, dict):
        raise PresetError(f"{where}: expected facts by name, got {type(facts).__name__}")
    checked(Facts, facts, where)
    return facts


def read_facts(path):
    """Reads a YAML file of facts.

    Args:
        path: the file. It maps names of models to facts; names that start with a dot are ignored, and `<<`
            adds the facts of an alias.

    Returns:
        A dict of name -> facts.

    Raises:
        PresetError: the file cannot be read, or a fact is unknown or wrong.
    """
    entries = yaml_text.parse(yaml_text.read_text(path, PresetError), path, PresetError, aliases=True)
    if not isinstance(entries, dict):
        raise PresetError(f"{path}: expected facts by the names of models, got {type(entries).__name__}")
    facts = {}
    for name, entry in entries.items():
        if not str(name).startswith("."):
            shared = entry.get("<<") if isinstance(entry, dict) else None
            if isinstance(shared, dict):
                entry = {**shared, **{key: value for key, value in entry.items() if key != "<<"}}
            facts[name] = check_facts(entry, f"{path}: {name}")
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
    """Returns facts that are true of several models together.

    Args:
        facts: list of dicts of facts, one for each model.

    Returns:
        What all of them state alike; the training corpora and the attributions of all; a licence only if it
        is that of all.
    """
    common = {key: value for key, value in facts[0].items() if all(it.get(key) == value for it in facts)}
    data = [corpus for it in facts for corpus in it.get("data", [])]
    texts = dict.fromkeys(it["attribution"].strip() for it in facts if "attribution" in it)
    joined = {
        "data": [corpus for i, corpus in enumerate(data) if corpus not in data[:i]],
        "attribution": "\n\n".join(texts),
    }
    return {**common, **{key: value for key, value in joined.items() if value}}


def rewrite_card(path, facts=None, metrics=None):
    """Rewrites the card, the facts and the manifest of a model directory; other files stay unchanged.

    Args:
        path: the directory.
        facts: dict of facts to add to `config.json` or to replace there.
        metrics: dict of sections to add to `metrics.json` or to replace there.

    Raises:
        PresetError: the directory is damaged, or a fact is unknown or wrong.
    """
    directory = model_directory.read_directory(path)
    facts = {**stored_facts(directory), **check_facts(facts or {}, path)}
    metrics = {**directory.metrics, **(metrics or {})}
    files = {name: directory.read_bytes(name) for name in directory.names}
    files["config.json"] = {**directory.config, "about": facts}
    if metrics:
        files["metrics.json"] = metrics
    files[CARD] = model_card(facts, metrics)
    model_directory.write_directory(path, files)


def describe(directory):
    """Describes one model in a list.

    Args:
        directory: a `model_directory.Directory`.

    Returns:
        A dict of `task`, `languages` (list), `size` in bytes, `parameters`, `score` (a dict of `name` and
        `value`) and `licence`. Unknown values are `None`.
    """
    facts = stored_facts(directory)
    return {
        "task": str(directory.config.get("task")),
        "languages": facts.get("languages", []),
        "size": sum(entry["size"] for entry in directory.manifest["files"].values()),
        "parameters": facts.get("parameters"),
        "score": _main_score(facts.get("score"), directory.metrics),
        "licence": facts.get("licence"),
    }


def _main_score(score, metrics):
    """Returns the main figure: the one named by the facts, or BLEU of the section "test" if there is one."""
    score = score or {"name": "BLEU", "section": "test", "figure": "bleu"}
    section = metrics.get(score["section"])
    figure = section.get(score["figure"]) if isinstance(section, dict) else None
    value = figure.get("score") if isinstance(figure, dict) else figure
    return {"name": score["name"], "value": round(value, 2)} if _is_number(value) else None


def model_card(facts, metrics):
    """Returns a model card in Markdown, with the front matter that model hubs read.

    Lists of figures, such as losses by epoch, are omitted; they remain in `metrics.json`.

    Args:
        facts: dict of facts.
        metrics: dict of dicts, one for each section: numbers, strings, or scores as `sacrebleu` gives them
            (dicts of `name`, `score` and `signature`).

    Returns:
        A string.

    Example:

    >>> facts = {"title": "Tiny", "pipeline_tag": "translation", "summary": "Toy.", "example": ["load()"],
    ...          "licence": "cc0-1.0", "languages": ["en"], "limits": "Many."}
    >>> print(model_card(facts, {"test": {"loss": 0.123456, "all": [1]}}))
    ---
    license: cc0-1.0
    language:
    - en
    library_name: keraszoo
    pipeline_tag: translation
    ---
    <BLANKLINE>
    # Tiny
    <BLANKLINE>
    Toy.
    <BLANKLINE>
        load()
    <BLANKLINE>
    ## Limits
    <BLANKLINE>
    Many.
    <BLANKLINE>
    ## Figures: test
    <BLANKLINE>
    - loss: 0.1235
    <BLANKLINE>
    """
    front = yaml.safe_dump(_front_matter(facts, metrics), sort_keys=False, allow_unicode=True, width=1000)
    title, summary = facts.get("title", "A model"), facts.get("summary", "")
    lines = ["---", *front.splitlines(), "---", "", f"# {title}", "", summary, ""]
    lines += [*(f"    {line}" for line in facts.get("example", [])), ""]
    for key, heading in SECTIONS.items():
        if key in facts:
            lines += [f"## {heading}", "", facts[key].strip(), ""]
        if key == "training" and "data" in facts:
            lines += ["## Data", "", *map(_data_line, facts["data"]), ""]
    for section, figures in metrics.items():
        lines += [f"## Figures: {section}", ""]
        if isinstance(figures, dict):
            lines += [_line(name, value) for name, value in figures.items() if not isinstance(value, list)]
        lines.append("")
    return "\n".join(lines)


def _front_matter(facts, metrics):
    front = {name: facts[key] for key, name in FRONT.items() if key in facts}
    front |= {"library_name": "keraszoo", "pipeline_tag": facts.get("pipeline_tag", "other")}
    if "data" in facts:
        front["datasets"] = [*dict.fromkeys(data["id"] for data in facts["data"])]
    scores = {
        section: {key: it for key, it in figures.items() if _is_score(it) and it["score"] is not None}
        for section, figures in metrics.items()
        if isinstance(figures, dict)
    }
    kinds = [*dict.fromkeys(kind for section in scores.values() for kind in section if "_" not in kind)]
    if named := facts.get("metrics", kinds):
        front["metrics"] = named
    if "name" in facts and "score" in facts:
        front["model-index"] = [{"name": facts["name"], "results": list(_results(metrics, scores, facts))}]
    return front


def _results(metrics, scores, facts):
    """Yields one entry for each section with scores, the section of the main figure first."""
    main = facts["score"]
    corpus = (facts.get("data") or [{"name": "unknown", "id": "unknown"}])[0]
    for section in sorted(metrics, key=lambda section: section != main["section"]):
        values = [
            {"type": kind, "name": it["name"], "value": round(it["score"], 2), "args": it["signature"]}
            for kind, it in scores.get(section, {}).items()
        ]
        if section == main["section"] and not values and (score := _main_score(main, metrics)):
            values = [{"type": (facts.get("metrics") or [main["figure"]])[0], **score}]
        dataset = {"name": f"{corpus['name']}, {section}", "type": corpus["id"]}
        if OUTSIDE in section or "data" in main:
            dataset = {"name": section if OUTSIDE in section else main["data"], "type": "other"}
        if values:
            task = {"type": facts.get("pipeline_tag", "other")}
            yield {"task": task, "dataset": dataset, "metrics": values}


def _data_line(data):
    line = f"- [{data['name']}]({data['url']}), {data['licence']}. {data.get('note', '')}"
    return textwrap.fill(line, 130, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _is_score(figure):
    if not isinstance(figure, dict) or not {"name", "score", "signature"} <= figure.keys():
        return False
    return figure["score"] is None or _is_number(figure["score"])


def _is_number(value):
    """Whether a value can be printed as a float: a file may hold an integer of thousands of digits."""
    return isinstance(value, (int, float)) and abs(value) < 1e15


def _line(name, figure):
    if _is_score(figure) and figure["score"] is None:
        return f"- {figure['name']}: none to score"
    if _is_score(figure):
        return f"- {figure['name']}: {figure['score']:.2f} (`{figure['signature']}`)"
    return f"- {name}: {figure:.4g}" if isinstance(figure, float) else f"- {name}: {figure}"

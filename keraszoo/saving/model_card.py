"""The card of a model, `README.md` of its directory: facts and figures in Markdown, as model hubs read it."""

import textwrap

import yaml

from keraszoo.saving import model_directory
from keraszoo.saving.model_facts import check_facts, is_number, main_score, stored_facts

CARD = "README.md"
SECTIONS = {  # the facts in Markdown, in the order of the card
    "intended_use": "Intended use",
    "limits": "Limits",
    "training": "How it was trained",
    "evaluation": "Reproducing the figures",
    "attribution": "Attribution",
}
FRONT = {"licence": "license", "languages": "language", "tags": "tags"}  # our name -> the name on model hubs


def model_card(facts, metrics):
    """Returns a model card in Markdown, with the front matter that model hubs read.

    `metrics` is a dict of dicts, one for each section: numbers, strings, or scores as `sacrebleu` gives them
    (dicts of `name`, `score` and `signature`). Lists of figures are omitted; `metrics.json` has them.
    """
    front, results = _front_matter(facts, metrics)
    title, summary = facts.get("title", "A model"), facts.get("summary", "")
    lines = ["---", *_yaml(front, None).splitlines()]
    if results is not None:
        lines += ["model-index:", f"- name: {_yaml(facts['name'], True).splitlines()[0]}"]
        lines.append("  results:" if results else "  results: []")
        lines += [f"  - {_yaml(result, True).strip()}" for result in results]
    lines += ["---", "", f"# {title}", "", summary, ""]
    lines += [*(f"    {line}" for line in facts.get("example", [])), ""]
    if metrics:
        main = facts.get("score", {}).get("section", "test")
        sections = sorted(metrics.items(), key=lambda item: (item[0] != main, not _scores(item[1])))
        lines += ["## Figures", "", *(_section(*section) for section in sections), ""]
    for key, heading in SECTIONS.items():
        if key in facts:
            lines += [f"## {heading}", "", facts[key].strip(), ""]
        if key == "training" and "data" in facts:
            lines += ["## Data", "", *map(_data_line, facts["data"]), ""]
    return "\n".join(lines)


def _yaml(value, flow_style):
    return yaml.safe_dump(
        value, sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=flow_style
    )


def _front_matter(facts, metrics):
    """Returns the front matter and the results of its model index, which are None without a score."""
    front = {name: facts[key] for key, name in FRONT.items() if key in facts}
    front |= {"library_name": "keraszoo", "pipeline_tag": facts.get("pipeline_tag", "other")}
    if "data" in facts:
        front["datasets"] = [*dict.fromkeys(data["id"] for data in facts["data"])]
    scores = {
        section: {key: it for key, it in _scores(figures).items() if it["score"] is not None}
        for section, figures in metrics.items()
    }
    kinds = [*dict.fromkeys(kind for section in scores.values() for kind in section if "_" not in kind)]
    if named := facts.get("metrics", kinds):
        front["metrics"] = named
    named = "name" in facts and "score" in facts
    return front, list(_results(metrics, scores, facts)) if named else None


def _results(metrics, scores, facts):
    """Yields one entry for each section with scores, the section of the main figure first."""
    main = facts["score"]
    corpus = (facts.get("data") or [{"name": "unknown", "id": "unknown"}])[0]
    for section in sorted(metrics, key=lambda section: section != main["section"]):
        values = [
            {"type": kind, "name": it["name"], "value": round(it["score"], 2), "args": it["signature"]}
            for kind, it in scores.get(section, {}).items()
        ]
        if section == main["section"] and not values and (score := main_score(main, metrics)):
            values = [{"type": (facts.get("metrics") or [main["figure"]])[0], **score}]
        dataset = {"name": f"{corpus['name']}, {section}", "type": corpus["id"]}
        if "data" in main or not section.startswith("test"):  # other sections are named by their data
            dataset = {"name": main["data"] if "data" in main else section, "type": "other"}
        if values:
            task = {"type": facts.get("pipeline_tag", "other")}
            yield {"task": task, "dataset": dataset, "metrics": values}


def _data_line(data):
    line = f"- [{data['name']}]({data['url']}), {data['licence']}. {data.get('note', '')}"
    return _filled(line)


def _scores(figures):
    return {key: it for key, it in figures.items() if _is_score(it)} if isinstance(figures, dict) else {}


def _section(name, figures):
    """Returns a line of the scores of a section, or of its numbers if it has no scores."""
    if not isinstance(figures, dict):
        return f"- {name}"
    shown = _scores(figures) or {key: it for key, it in figures.items() if not isinstance(it, list)}
    first = shown.get("f1")
    if first and shown.get("f1_default", {}).get("score") == first["score"]:  # as on all valid tags
        shown.pop("f1_default")
    texts = [_text(key, value) for key, value in shown.items()]
    return _filled(f"- {name}: {'; '.join(texts)}")


def _filled(line):
    return textwrap.fill(line, 130, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _is_score(figure):
    if not isinstance(figure, dict) or not {"name", "score", "signature"} <= figure.keys():
        return False
    return figure["score"] is None or is_number(figure["score"])


def _text(name, figure):
    if _is_score(figure) and figure["score"] is None:
        return f"{figure['name']}: none to score"
    if _is_score(figure):
        return f"{figure['name']}: {figure['score']:.2f} (`{figure['signature']}`)"
    return f"{name}: {figure:.4g}" if isinstance(figure, float) else f"{name}: {figure}"


def rewrite_card(path, facts=None, metrics=None):
    """Rewrites the card of a model directory after adding facts to its `config.json` and sections of metrics.

    A section of `metrics` that is `None` is removed. If nothing changes, no file is written, so the manifest
    keeps the versions that it states.

    Raises:
        PresetError: the directory is damaged, or a fact is unknown or wrong.
    """
    directory = model_directory.read_directory(path)
    facts = {**stored_facts(directory), **check_facts(facts or {}, path)}
    metrics = {**directory.metrics, **(metrics or {})}
    metrics = {section: figures for section, figures in metrics.items() if figures is not None}
    files = {name: directory.read_bytes(name) for name in directory.names}
    card, config = model_card(facts, metrics), {**directory.config, "about": facts}
    written = directory.config, directory.metrics, files.get(CARD)
    if written == (config, metrics, card.encode()):
        return
    files |= {"config.json": config, CARD: card}
    if metrics:
        files["metrics.json"] = metrics
    model_directory.write_directory(path, files)

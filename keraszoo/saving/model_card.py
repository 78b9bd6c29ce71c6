"""The card of a model directory: what it is, how it is used, where it comes from, what it reached."""

import textwrap

import yaml

SECTIONS = {  # of the facts that are text, in the order of the card
    "intended_use": "Intended use",
    "limits": "Limits",
    "training": "How it was trained",
    "evaluation": "Getting the figures again",
    "attribution": "Attribution",
}
OUTSIDE = "out of its domain"  # in the name of a section: on data of another kind than the training's
FRONT = {"licence": "license", "languages": "language", "tags": "tags"}  # as model hubs call them


def model_card(title, pipeline_tag, about, example, metrics, facts=None):
    """A card in Markdown, with the front matter that model hubs read.

    The course of a training (lists of figures) is left to `metrics.json`.

    Args:
        title: the first heading.
        pipeline_tag: the task, by the name that model hubs have for it.
        about: a paragraph.
        example: lines of Python that load and use the model.
        metrics: dict of dicts, a section each: numbers, strings, or scores as `sacrebleu` gives them (dicts
            of `name`, `score` and `signature`).
        facts: what no program can know, such as licence and intended use; see `keraszoo.saving.model_facts`.

    Returns:
        A string.

    Example:

    >>> print(model_card("Tiny", "translation", "Toy.", ["load()"], {"test": {"loss": 0.123456, "all": [1]}},
    ...                  {"licence": "cc0-1.0", "languages": ["en"], "limits": "Many."}))
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
    facts = facts or {}
    front = yaml.safe_dump(
        _front_matter(pipeline_tag, metrics, facts), sort_keys=False, allow_unicode=True, width=1000
    )
    lines = ["---", *front.splitlines(), "---", "", f"# {title}", "", about, ""]
    lines += [*(f"    {line}" for line in example), ""]
    for key, heading in SECTIONS.items():
        if key in facts:
            lines += [f"## {heading}", "", facts[key].strip(), ""]
        if key == "training" and "data" in facts:
            lines += ["## Data", "", *map(_data, facts["data"]), ""]
    for section, figures in metrics.items():
        lines += [f"## Figures: {section}", ""]
        if isinstance(figures, dict):
            lines += [_line(name, figure) for name, figure in figures.items() if not isinstance(figure, list)]
        lines.append("")
    return "\n".join(lines)


def _front_matter(pipeline_tag, metrics, facts):
    front = {name: facts[key] for key, name in FRONT.items() if key in facts}
    front |= {"library_name": "keraszoo", "pipeline_tag": pipeline_tag}
    if "data" in facts:
        front["datasets"] = [data["id"] for data in facts["data"]]
    scores = {
        section: {name: it for name, it in figures.items() if _is_score(it) and it["score"] is not None}
        for section, figures in metrics.items()
        if isinstance(figures, dict)
    }
    kinds = dict.fromkeys(name for found in scores.values() for name in found if "_" not in name)
    front |= {"metrics": facts["metrics"]} if "metrics" in facts else {"metrics": [*kinds]} if kinds else {}
    if "name" in facts and "score" in facts:
        front["model-index"] = [
            {"name": facts["name"], "results": list(_results(pipeline_tag, metrics, scores, facts))}
        ]
    return front


def _results(pipeline_tag, metrics, scores, facts):
    """One entry for each section that has scores, the headline first."""
    headline = facts["score"]
    data = facts.get("data", [{"name": "unknown", "id": "unknown"}])[0]
    for section in sorted(metrics, key=lambda section: section != headline["section"]):
        found = [
            {"type": kind, "name": it["name"], "value": round(it["score"], 2), "args": it["signature"]}
            for kind, it in scores.get(section, {}).items()
        ]
        if section == headline["section"] and not found:
            kind = facts.get("metrics", [headline["figure"]])[0]
            value = metrics[section][headline["figure"]]
            found = [{"type": kind, "name": headline["name"], "value": round(value, 2)}]
        if OUTSIDE in section:
            dataset = {"name": section, "type": "other"}
        elif "data" in headline:
            dataset = {"name": headline["data"], "type": "other"}
        else:
            dataset = {"name": f"{data['name']}, {section}", "type": data["id"]}
        if found:
            yield {"task": {"type": pipeline_tag}, "dataset": dataset, "metrics": found}


def _data(data):
    """A line about one corpus."""
    line = f"- [{data['name']}]({data['url']}), {data['licence']}. {data.get('note', '')}"
    return textwrap.fill(line, 130, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _is_score(figure):
    return isinstance(figure, dict) and "signature" in figure


def _line(name, figure):
    if _is_score(figure) and figure["score"] is None:
        return f"- {figure['name']}: none to score"
    if _is_score(figure):
        return f"- {figure['name']}: {figure['score']:.2f} (`{figure['signature']}`)"
    return f"- {name}: {figure:.4g}" if isinstance(figure, float) else f"- {name}: {figure}"

"""The card of a model directory: what it is, how it is used, what it reached."""


def model_card(title, pipeline_tag, about, example, metrics):
    """A card in Markdown, with the front matter that model hubs read.

    The course of a training (lists of figures) is left to `metrics.json`.

    Args:
        title: the first heading.
        pipeline_tag: the task, by the name that model hubs have for it.
        about: a paragraph.
        example: lines of Python that load and use the model.
        metrics: dict of dicts, a section each: numbers, strings, or scores as `sacrebleu` gives them (dicts
            of `name`, `score` and `signature`).

    Returns:
        A string.

    Example:

    >>> print(model_card("Tiny", "translation", "Toy.", ["load()"], {"test": {"loss": 0.123456, "all": [1]}}))
    ---
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
    ## test
    <BLANKLINE>
    - loss: 0.1235
    <BLANKLINE>
    """
    front = ["---", "library_name: keraszoo", f"pipeline_tag: {pipeline_tag}", "---", ""]
    lines = [*front, f"# {title}", "", about, "", *(f"    {line}" for line in example), ""]
    for section, figures in metrics.items():
        lines += [f"## {section}", ""]
        if isinstance(figures, dict):
            lines += [_line(name, figure) for name, figure in figures.items() if not isinstance(figure, list)]
        lines.append("")
    return "\n".join(lines)


def _line(name, figure):
    if isinstance(figure, dict) and "signature" in figure:
        return f"- {figure['name']}: {figure['score']:.2f} (`{figure['signature']}`)"
    return f"- {name}: {figure:.4g}" if isinstance(figure, float) else f"- {name}: {figure}"

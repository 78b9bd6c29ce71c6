"""The models that have a name, those on this machine and those that ship."""

from keraszoo.errors import PresetError
from keraszoo.saving import model_directory
from keraszoo.saving.model_facts import describe
from keraszoo.shipping import shipped

HEADINGS = ("name", "task", "languages", "size", "score", "licence", "place")


def list_models():
    """Describes every model that has a name.

    Only the small files of a directory are read, not its weights: a damaged model is noticed when it is used.

    Returns:
        List of dicts, sorted by name: `name`, the entries of `model_facts.describe`, and `place`: the
        directory, or `None` for a model that ships but is not on this machine. A directory that cannot be
        read has `name`, `place` and `error`.
    """
    known = shipped.index()
    models = {name: {"name": name, **known[name]["about"], "place": None} for name in known}
    for name, place in shipped.places().items():
        models[name] = {"name": name, **_look(place), "place": str(place)}
    return [models[name] for name in sorted(models)]


def _look(place):
    try:
        return describe(model_directory.glance(place))
    except PresetError as error:
        return {"error": str(error)}


def as_table(models):
    """The list as lines of text, in columns."""
    rows = [HEADINGS, *map(_row, models)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS) - 1)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])


def _row(model):
    if "error" in model:
        return (model["name"], "-", "-", "-", "-", "-", model["error"])
    return (
        model["name"],
        model["task"],
        " ".join(model["languages"]) or "-",
        f"{model['size'] / 1e6:.1f} MB",
        score_text(model["score"]) or "-",
        model["licence"] or "-",
        model["place"] or f"not here: keraszoo fetch {model['name']} --from FOLDER",
    )


def score_text(score):
    """`BLEU 45.27`, or nothing."""
    return f"{score['name']} {score['value']:.4g}" if score else ""

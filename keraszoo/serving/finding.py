"""Finds the models that a server is asked for, or the included ones on this machine."""

from pathlib import Path
from typing import NamedTuple

from keraszoo.errors import PresetError
from keraszoo.registry import TASKS
from keraszoo.saving import model_directory
from keraszoo.saving.model_facts import describe
from keraszoo.serving.examples import example_of
from keraszoo.shipping import shipped

CLASSES = {name: row.kind for name, row in TASKS.items() if row.kind}


class Found(NamedTuple):
    """A model: its directory, facts as of `describe`, corpora of a tagger of several, and an example text."""

    directory: Path
    about: dict
    corpora: list
    example: str


def find_models(names=(), tasks=tuple(CLASSES)):
    """Finds models of some tasks.

    Args:
        names: names of included models and model directories; if there are none, all included models of these
            tasks on this machine: those of English and of general text first, and of these the best.
        tasks: names of tasks.

    Returns:
        List of `Found`, in the order of `names`.

    Raises:
        PresetError: a model does not exist or has another task, or there are no models.
    """
    found = []
    for name in names or shipped.places().values():
        directory = Path(shipped.find(name)).resolve()
        try:
            description = model_directory.read_description(directory)
            about = describe(description)
        except PresetError:
            if names:
                raise
            continue
        if about["task"] in tasks:
            example, rank = example_of(description.config, about["languages"])
            place = () if names else (rank, -(about["score"] or {"value": 0})["value"])
            corpora = description.config.get("corpora")
            found.append(
                (place, Found(directory, about, corpora if isinstance(corpora, list) else [], example))
            )
        elif names:
            raise PresetError(f"{name}: expected a model for {', '.join(tasks)}")
    if not found:
        raise PresetError("no models on this machine; `keraszoo fetch` gets them, or name a directory")
    return [model for _, model in sorted(found, key=lambda one: one[0])]

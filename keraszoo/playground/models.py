"""The models of the playground: found by name or directory, loaded when they are first used."""

from pathlib import Path

from keraszoo.errors import KerasZooError, PresetError
from keraszoo.playground.examples import example_of
from keraszoo.registry import TASKS, load
from keraszoo.saving import model_directory
from keraszoo.saving.model_facts import describe
from keraszoo.shipping import shipped

CLASSES = {name: row.kind for name, row in TASKS.items() if row.kind}


class Models:
    """Models by name; a tagger of several corpora has one name for each.

    Args:
        names: names of included models and model directories, shown in this order; if there are none, all
            included models on this machine that the playground can use: those of English and of general text
            first, and of these the best.

    Raises:
        PresetError: a model does not exist or has another task, or there are no models.
    """

    def __init__(self, names=()):
        self.about = {}
        self._places, self._loaded = {}, {}
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
            if about["task"] in CLASSES:
                example, rank = example_of(description.config, about["languages"])
                place = () if names else (rank, -(about["score"] or {"value": 0})["value"])
                found.append((place, directory, description.config.get("corpora"), about, example))
            elif names:
                raise PresetError(f"{name}: expected a model for {', '.join(CLASSES)}")
        for _, *model in sorted(found, key=lambda one: one[0]):
            self._add(*model)
        if not self.about:
            raise PresetError("no models on this machine; `keraszoo fetch` gets them, or name a directory")

    def _add(self, directory, corpora, about, example):
        for corpus in corpora if isinstance(corpora, list) else [None]:
            ending = "" if corpus is None else f", {corpus}"
            name = directory.name + ending
            name = name if name not in self.about else f"{directory}{ending}"
            self._places[name] = directory, {} if corpus is None else {"corpus": corpus}
            shown = {"task": about["task"], "languages": about["languages"], "example": example}
            self.about[name] = {"name": name, **shown}

    def get(self, name, task, progress):
        """Returns the model of a task by its name in `about`, and loads it on first use, which it reports."""
        if self.about.get(name, {}).get("task") != task:
            raise KerasZooError(f"there is no model {name!r:.60} for {task} here")
        if name not in self._loaded:
            progress(f"loading {name}")
            directory, options = self._places[name]
            self._loaded[name] = load(CLASSES[task]).from_preset(directory, **options)
        return self._loaded[name]

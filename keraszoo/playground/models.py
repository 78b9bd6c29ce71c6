"""The models of the playground: found by name or directory, loaded when they are first used."""

from keraszoo.errors import KerasZooError
from keraszoo.registry import load
from keraszoo.serving.finding import CLASSES, find_models


class Models:
    """Models by name; a tagger of several corpora has one name for each.

    Args:
        names: as for `find_models`.

    Raises:
        PresetError: as `find_models` does.
    """

    def __init__(self, names=()):
        self.about = {}
        self._places, self._loaded = {}, {}
        for model in find_models(names):
            self._add(*model)

    def _add(self, directory, about, corpora, example):
        for corpus in corpora or [None]:
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

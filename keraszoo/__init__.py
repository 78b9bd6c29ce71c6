"""The lineage of attention as Keras layers, and translation models and taggers built of them.

`import keraszoo` loads nothing but this file. `keraszoo.Translator`, `keraszoo.layers` and the other names
below are looked up when they are first asked for.
"""

import importlib

__version__ = "0.1.0"

_ROOMS = (
    "errors", "layers", "models", "search", "text", "training", "evaluation", "tasks",
    "translation", "tagging", "answering", "plots", "saving", "shipping",
)  # fmt: skip
_NAMES = {
    "Translator": "keraszoo.translation.translator",
    "EntityTagger": "keraszoo.tagging.entity_tagger",
    "QuestionAnswerer": "keraszoo.answering.question_answerer",
    "KerasZooError": "keraszoo.errors",
}

__all__ = ["__version__", *_NAMES, *_ROOMS]


def __getattr__(name):
    if name in _ROOMS:
        return importlib.import_module(f"keraszoo.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'keraszoo' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])

"""The lineage of attention as Keras layers, and translation models and taggers built from them.

`import keraszoo` only loads this file. `keraszoo.Translator`, `keraszoo.layers` and the other names below are
imported on first use.
"""

import importlib

__version__ = "0.1.0"

_PACKAGES = (
    "errors", "layers", "models", "search", "text", "training", "evaluation", "tasks",
    "translation", "tagging", "answering", "plots", "saving", "shipping",
)  # fmt: skip
_NAMES = {
    "Translator": "keraszoo.translation.translator",
    "EntityTagger": "keraszoo.tagging.entity_tagger",
    "QuestionAnswerer": "keraszoo.answering.question_answerer",
    "KerasZooError": "keraszoo.errors",
    "upload_preset": "keraszoo.shipping.hub",
}

__all__ = ["__version__", *_NAMES, *_PACKAGES]


def __getattr__(name):
    if name in _PACKAGES:
        return importlib.import_module(f"keraszoo.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'keraszoo' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])

"""The lineage of attention as Keras layers, and translation models and taggers built from them.

`import keraszoo` loads this file and the registry. `keraszoo.Translator`, `keraszoo.layers` and the other
names below are imported on first use.
"""

import importlib

from keraszoo.registry import TASKS, load

__version__ = "1.0.0"

_PACKAGES = (
    "errors", "layers", "models", "search", "text", "training", "evaluation", "recipes",
    "tasks", "translation", "tagging", "answering", "plots", "saving", "shipping",
)  # fmt: skip
_NAMES = {row.kind.partition(":")[2]: row.kind for row in TASKS.values() if row.kind} | {
    "KerasZooError": "keraszoo.errors:KerasZooError",
    "upload_preset": "keraszoo.shipping.hub:upload_preset",
}

__all__ = ["__version__", *_NAMES, *_PACKAGES]


def __getattr__(name):
    if name in _PACKAGES:
        return importlib.import_module(f"keraszoo.{name}")
    if name in _NAMES:
        return load(_NAMES[name])
    raise AttributeError(f"module 'keraszoo' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])

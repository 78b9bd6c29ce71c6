"""Search over a translation model; it knows the four methods of a model and what a model says of its state.

The names below are imported on first use, so that recipes read `SearchOptions` without importing Keras.
"""

import importlib

_NAMES = {
    "Hypotheses": "hypotheses",
    "SearchOptions": "options",
    "beam_search": "beam",
    "cache_lengths": "loop",
    "greedy_search": "greedy",
}

__all__ = [*_NAMES, "search"]


def __getattr__(name):
    if name in _NAMES:
        return getattr(importlib.import_module(f"keraszoo.search.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'keraszoo.search' has no attribute {name!r}")


def search(model, memory, options, **arguments):
    """Runs beam search, or greedy search and sampling for a beam of one.

    The arguments are those of `greedy_search`; `numbers` are for a beam of one, `terms` for wider ones.
    """
    from keraszoo.search.beam import beam_search
    from keraszoo.search.greedy import greedy_search

    function = greedy_search if options.beam_width == 1 else beam_search
    return function(model, memory, options, **arguments)

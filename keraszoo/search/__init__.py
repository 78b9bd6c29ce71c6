"""Search over `step(tokens, state)` and a state; it knows no model and no text."""

from keraszoo.search.beam import beam_search
from keraszoo.search.greedy import greedy_search
from keraszoo.search.hypotheses import Hypotheses
from keraszoo.search.loop import cache_lengths
from keraszoo.search.options import SearchOptions

__all__ = ["Hypotheses", "SearchOptions", "beam_search", "cache_lengths", "greedy_search", "search"]


def search(step, state, options, **arguments):
    """Beam search, or greedy search and sampling where the beam is of one: see `greedy_search`."""
    function = greedy_search if options.beam_width == 1 else beam_search
    return function(step, state, options, **arguments)

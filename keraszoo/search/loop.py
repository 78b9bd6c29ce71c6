"""The loop around a search: a cache that grows in stages, and sentences that leave when they are done."""

import keras
from keras import ops

from keraszoo.search.state import lengthen, select_sentences


def cache_lengths(max_length, first=16, factor=2):
    """Sizes that a cache grows through up to `max_length`: a step costs in proportion to the length so far,
    not the longest.

    >>> cache_lengths(100)
    [16, 32, 64, 100]
    """
    lengths = [min(first, max_length)]
    while lengths[-1] < max_length:
        lengths.append(min(max_length, max(lengths[-1] + 1, int(lengths[-1] * factor))))
    return lengths


def run(advance, found, state, constants, lengths, beam_width=1, compact=False):
    """Advances all sentences until each is done.

    The work goes through stages of growing cache length. Between stages, with `compact`, the sentences that
    are done leave the batch: the rest is smaller, and their results are the same.

    Args:
        advance: a function of `(found, state, constants)` that steps every row once and returns `(found,
            state)`.
        found: dict of tensors `(B, ...)`: what has been found for each sentence; `found["live"]`, bool
            `(B,)`, says which sentences go on.
        state: the model's state without its memory; its `"position"` counts the steps.
        constants: dict of tensors `(B, ...)`, nested: what does not change, such as the memory.
        lengths: the stages; a state comes with room for the first.
        beam_width: rows of a sentence.
        compact: let sentences leave; it makes shapes that only a running graph knows, which XLA and JAX
            cannot have.

    Returns:
        `found` of all sentences.
    """

    def stage(index, found, state, constants):
        def goes_on(found, state):
            return ops.logical_and(state["position"] < lengths[index], ops.any(found["live"]))

        found, state = ops.while_loop(goes_on, lambda f, s: advance(f, s, constants), (found, state))
        if index + 1 == len(lengths):
            return found
        extra = lengths[index + 1] - lengths[index]

        def continue_all():
            return stage(index + 1, found, lengthen(state, extra), constants)

        def continue_some():
            (live,) = ops.nonzero(found["live"])
            live = ops.cast(live, "int32")

            def take(tree):
                return keras.tree.map_structure(lambda x: ops.take(x, live, axis=0), tree)

            def put(whole, part):
                return ops.scatter_update(whole, live[:, None], part)

            some = lengthen(select_sentences(state, live, beam_width), extra)
            done = stage(index + 1, take(found), some, take(constants))
            return keras.tree.map_structure(put, found, done)

        return ops.cond(ops.any(found["live"]), continue_some if compact else continue_all, lambda: found)

    return stage(0, found, state, constants)

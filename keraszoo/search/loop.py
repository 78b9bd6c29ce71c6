"""The loop of a search: the cache grows in stages."""

from keras import ops

from keraszoo.errors import KerasZooError


def cache_lengths(max_length, first=16, factor=2):
    """Sizes of a cache that grows up to `max_length`, because a step costs in proportion to the cache's size.

    >>> cache_lengths(100)
    [16, 32, 64, 100]
    """
    lengths = [min(first, max_length)]
    while lengths[-1] < max_length:
        lengths.append(min(max_length, max(lengths[-1] + 1, int(lengths[-1] * factor))))
    return lengths


def tracks_attention(model, options, attention):
    """Whether a search keeps the attention weights of its hypotheses, or an error if there are none."""
    wanted = attention or options.kind.coverage_penalty > 0
    if wanted and not model.attends:
        raise KerasZooError(
            "the model attends to nothing, so attention weights and a coverage penalty are impossible"
        )
    return wanted


def run(advance, progress, state, model, lengths, beam_width=1):
    """Advances all sentences until each is done, in stages of growing cache length; returns `progress`.

    `keraszoo.translation.graph_loop` does the same in TensorFlow's graphs with less tracing.

    Args:
        advance: a function of `(progress, state)` that steps every row once and returns both.
        progress: nested dict of tensors `(B, ...)`: what belongs to a sentence. `progress["live"]`, bool
            `(B,)`, marks the sentences that continue.
        state: the model's state; its `"position"` counts the steps.
        model: the `TranslationModel`, which lengthens its state.
        lengths: the stages; the state has room for the first.
        beam_width: rows per sentence, for loops that select sentences.
    """

    def stage(index, progress, state):
        def goes_on(progress, state):
            return ops.logical_and(state["position"] < lengths[index], ops.any(progress["live"]))

        progress, state = ops.while_loop(goes_on, advance, (progress, state))
        if index + 1 == len(lengths):
            return progress
        extra = lengths[index + 1] - lengths[index]
        more = ops.any(progress["live"])
        return ops.cond(
            more, lambda: stage(index + 1, progress, model.lengthen(state, extra)), lambda: progress
        )

    return stage(0, progress, state)

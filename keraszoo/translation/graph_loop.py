"""The loop of a search in TensorFlow's graphs: every part is traced once, and XLA compiles small batches."""

import keras

from keraszoo.layers.rows import take
from keraszoo.search.loop import cache_lengths

# XLA compiles programs for these numbers of sentences and lengths of sources; others take the plain graph.
ROWS = (1, 4, 16)
COLUMNS = (16, 48, 128)


def run(advance, progress, state, model, lengths, beam_width=1, few=None):
    """A loop like `keraszoo.search.loop.run` for TensorFlow's graphs.

    The search is a loop of stages, and a stage a loop of steps. A stage ends when the cache is full, or when
    an eighth of its sentences are done: they leave, and the cache grows. As shapes may vary, all stages share
    one graph of a step, which keeps tracing short.

    With few sentences, most of a step's time goes into launching operations, which XLA saves. It compiles a
    program per shape, so there are few shapes: the sentences are filled up to a number of `ROWS`, and the
    cache grows fourfold.

    Args:
        advance, progress, state, model, lengths, beam_width: as for `keraszoo.search.loop.run`.
        few: scalar bool tensor, whether XLA compiles the stages; there are then at most `ROWS[-1]` sentences.
            `None`: never.

    Returns:
        `progress` of all sentences.
    """
    import tensorflow as tf

    tree = tf.nest.map_structure
    total, limit = tf.shape(progress["live"])[0], lengths[-1]

    def steps(progress, state, until, enough):
        """Steps up to a position, while more than `enough` sentences are live."""

        def goes_on(progress, state):
            live = tf.reduce_sum(tf.cast(progress["live"], "int32"))
            return tf.logical_and(state["position"] < until, live > enough)

        return tf.while_loop(goes_on, advance, (progress, state))

    compiled = tf.function(steps, jit_compile=True, autograph=False)

    def stage(results, places, progress, state, until):
        # keep live sentences; for XLA, fill up with copies of the first sentence, marked as done
        live = tf.cast(tf.where(progress["live"])[:, 0], "int32")
        rows = count = tf.size(live)
        needed = tf.maximum(until, state["position"] + 1)
        wanted, enough = at_least(lengths, needed), count * 7 // 8
        if few is not None:
            rows = tf.where(few, at_least(ROWS, count), count)
            wanted = tf.where(few, at_least(cache_lengths(limit, factor=4), needed), wanted)
            enough = tf.where(few, tf.reduce_max(tf.where(tf.constant(ROWS) < rows, ROWS, 0)), enough)
        chosen, real = tf.pad(live, [[0, rows - count]]), tf.range(rows) < count
        places = tf.where(real, tf.gather(places, chosen), total)  # the last row of `results` is never read
        progress = take(progress, chosen)
        progress["live"] = tf.logical_and(progress["live"], real)
        state = model.lengthen(model.select_sentences(state, chosen, beam_width), wanted - until)
        arguments = progress, state, wanted, enough
        if few is None:
            progress, state = steps(*arguments)
        else:
            progress, state = tf.cond(few, lambda: compiled(*arguments), lambda: steps(*arguments))
        results = tree(
            lambda all, some: tf.tensor_scatter_nd_update(all, places[:, None], some), results, progress
        )
        return results, places, progress, state, wanted

    def goes_on(results, places, progress, state, until):
        return tf.logical_and(tf.reduce_any(progress["live"]), state["position"] < limit)

    results = tree(lambda x: tf.concat([x, x[:1]], axis=0), progress)
    first = results, tf.range(total), progress, state, tf.constant(lengths[0])
    invariants = [tree(lambda x: free_shape(x, (0,)), part) for part in first]
    invariants[3] = free_shapes(model, state)
    results, *_ = tf.while_loop(goes_on, stage, first, shape_invariants=tuple(invariants))
    return tree(lambda x: x[:total], results)


class TracedModel:
    """A model whose step is one graph, which the plain and the compiled stages of a search share.

    Args:
        model: a `TranslationModel`, for TensorFlow.
    """

    def __init__(self, model):
        self._model = model
        self._graph = None

    def __getattr__(self, name):
        return getattr(self._model, name)

    def step(self, tokens, state):
        import tensorflow as tf

        if self._graph is None:  # the sizes of the free axes may vary later
            specs = tf.nest.map_structure(
                lambda x, shape: tf.TensorSpec(shape, x.dtype), state, free_shapes(self._model, state)
            )
            signature = [tf.TensorSpec([None], tf.int32), specs]
            self._graph = tf.function(self._model.step, input_signature=signature, autograph=False)
        logits, after = self._graph(tokens, state)
        tf.nest.map_structure(lambda new, old: new.set_shape(old.shape), after, state)
        return logits, after


def free_shapes(model, state):
    """A `tf.TensorShape` for each tensor of a state, which leaves free what varies during a search."""
    return keras.tree.map_structure_up_to(state, free_shape, state, model.free_axes(state))


def free_shape(x, axes):
    """The shape of a tensor, `None` at some axes."""
    import tensorflow as tf

    return tf.TensorShape([None if axis in axes else size for axis, size in enumerate(x.shape)])


def at_least(sizes, count):
    """The first of `sizes` that is at least `count`, else `count`: a scalar int32 tensor."""
    import tensorflow as tf

    return tf.reduce_min(tf.where(tf.constant(sizes) >= count, sizes, tf.maximum(count, sizes[-1])))

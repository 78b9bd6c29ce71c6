"""The loop of a search in TensorFlow's graphs: every part is traced once, and XLA compiles small batches."""

from keraszoo.search.loop import cache_lengths
from keraszoo.search.state import lengthen, select_sentences, take

# XLA compiles programs for these numbers of sentences and lengths of sources; others take the plain graph.
ROWS = (1, 4, 16)
COLUMNS = (16, 48, 128)
# Axes of a model's state that vary during a search; of its other parts, the first.
VARYING = {"cache": (0, 2), "history": (0, 1), "attention_weights": (0, 1), "position": ()}


def run(advance, progress, state, constants, lengths, beam_width=1, few=None):
    """A loop like `keraszoo.search.loop.run` for TensorFlow's graphs.

    The search is a loop of stages, and a stage a loop of steps. A stage ends when the cache is full, or when
    an eighth of its sentences are done: they leave, and the cache grows. As shapes may vary, all stages share
    one graph of a step, which keeps tracing short.

    With few sentences, most of a step's time goes into launching operations, which XLA saves. It compiles a
    program per shape, so there are few shapes: the sentences are filled up to a number of `ROWS`, and the
    cache grows fourfold.

    Args:
        advance, progress, state, constants, lengths, beam_width: as for `keraszoo.search.loop.run`.
        few: scalar bool tensor, whether XLA compiles the stages; there are then at most `ROWS[-1]` sentences.
            `None`: never.

    Returns:
        `progress` of all sentences.
    """
    import tensorflow as tf

    tree = tf.nest.map_structure
    total, limit = tf.shape(progress["live"])[0], lengths[-1]

    def steps(progress, state, constants, until, enough):
        """Steps up to a position, while more than `enough` sentences are live."""

        def goes_on(progress, state):
            live = tf.reduce_sum(tf.cast(progress["live"], "int32"))
            return tf.logical_and(state["position"] < until, live > enough)

        return tf.while_loop(goes_on, lambda p, s: advance(p, s, constants), (progress, state))

    compiled = tf.function(steps, jit_compile=True, autograph=False)

    def stage(results, places, progress, state, constants, until):
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
        progress, constants = take(progress, chosen), take(constants, chosen)
        progress["live"] = tf.logical_and(progress["live"], real)
        state = lengthen(select_sentences(state, chosen, beam_width), wanted - until)
        arguments = progress, state, constants, wanted, enough
        if few is None:
            progress, state = steps(*arguments)
        else:
            progress, state = tf.cond(few, lambda: compiled(*arguments), lambda: steps(*arguments))
        results = tree(
            lambda all, some: tf.tensor_scatter_nd_update(all, places[:, None], some), results, progress
        )
        return results, places, progress, state, constants, wanted

    def goes_on(results, places, progress, state, constants, until):
        return tf.logical_and(tf.reduce_any(progress["live"]), state["position"] < limit)

    def shapes(part, axes=(0,)):
        return tree(lambda x: tf.TensorShape(with_free_axes(x, axes)), part)

    results = tree(lambda x: tf.concat([x, x[:1]], axis=0), progress)
    first = (results, tf.range(total), progress, state, constants, tf.constant(lengths[0]))
    invariants = [shapes(part) for part in first]
    invariants[3] = {key: shapes(part, VARYING.get(key, (0,))) for key, part in state.items()}
    results, *_ = tf.while_loop(goes_on, stage, first, shape_invariants=tuple(invariants))
    return tree(lambda x: x[:total], results)


def traced_once(step, state):
    """A model's `step` as one graph that the plain and the compiled stages of a search share.

    Args:
        step: the model's.
        state: an initial state; the number of its rows and the lengths of sources and caches may vary later.

    Returns:
        A function like `step`, for TensorFlow.
    """
    import tensorflow as tf

    def specs(key, part):
        return tf.nest.map_structure(
            lambda x: tf.TensorSpec(with_free_axes(x, VARYING.get(key, (0,))), x.dtype), part
        )

    signature = [tf.TensorSpec([None], tf.int32), {key: specs(key, part) for key, part in state.items()}]
    graph = tf.function(step, input_signature=signature, autograph=False)

    def once(tokens, state):
        logits, after = graph(tokens, state)
        tf.nest.map_structure(lambda new, old: new.set_shape(old.shape), after, state)
        return logits, after

    return once


def with_free_axes(x, axes):
    """The shape of a tensor as a list, `None` at some axes."""
    return [None if axis in axes else size for axis, size in enumerate(x.shape)]


def at_least(sizes, count):
    """The first of `sizes` that is at least `count`, else `count`: a scalar int32 tensor."""
    import tensorflow as tf

    return tf.reduce_min(tf.where(tf.constant(sizes) >= count, sizes, tf.maximum(count, sizes[-1])))

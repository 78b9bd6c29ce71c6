"""The loop of a search in TensorFlow's graphs, with one graph of a step for all lengths and batches."""

import keras

from keraszoo.layers.rows import take


def run(advance, progress, state, model, lengths, beam_width=1):
    """A loop like `keraszoo.search.loop.run` for TensorFlow's graphs.

    The search is a loop of stages, and a stage a loop of steps. A stage ends when the cache is full, or when
    an eighth of its sentences are done: they leave, and the cache grows. As shapes may vary, all stages share
    one graph of a step, which keeps tracing short.

    Args, returns: as for `keraszoo.search.loop.run`.
    """
    import tensorflow as tf

    tree = tf.nest.map_structure
    total, limit = tf.shape(progress["live"])[0], lengths[-1]

    def stage(results, places, progress, state, room):
        live = tf.cast(tf.where(progress["live"])[:, 0], "int32")
        places, enough = tf.gather(places, live), tf.size(live) * 7 // 8
        needed = tf.maximum(room, state["position"] + 1)
        wanted = tf.reduce_min(tf.where(tf.constant(lengths) >= needed, lengths, limit))
        state = model.lengthen(model.select_sentences(state, live, beam_width), wanted - room)

        def goes_on(progress, state):
            count = tf.reduce_sum(tf.cast(progress["live"], "int32"))
            return tf.logical_and(state["position"] < wanted, count > enough)

        progress, state = tf.while_loop(goes_on, advance, (take(progress, live), state))
        results = tree(
            lambda all, some: tf.tensor_scatter_nd_update(all, places[:, None], some), results, progress
        )
        return results, places, progress, state, wanted

    def goes_on(results, places, progress, state, room):
        return tf.logical_and(tf.reduce_any(progress["live"]), state["position"] < limit)

    first = progress, tf.range(total), progress, state, tf.constant(lengths[0])
    invariants = [tree(lambda x: free_shape(x, (0,)), part) for part in first]
    invariants[3] = free_shapes(model, state)
    return tf.while_loop(goes_on, stage, first, shape_invariants=tuple(invariants))[0]


class TracedModel:
    """A `TranslationModel` whose step is one graph, which the plain and the compiled stages share."""

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

"""The loop of a search as a few XLA programs: for a server, which meets the same sizes again and again."""

from keraszoo.search.state import lengthen, select_sentences

ROWS = (
    1,
    2,
    4,
    8,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    192,
    256,
)  # numbers of sentences that programs are compiled for


def at_least(sizes, count):
    """The first of `sizes` that holds `count`; `count` itself where none does. A scalar int32 tensor."""
    import tensorflow as tf

    return tf.reduce_min(tf.where(tf.constant(sizes) >= count, sizes, tf.maximum(count, sizes[-1])))


def staged_loop(sentences):
    """A loop like `keraszoo.search.loop.run` in which XLA compiles the steps.

    A program runs until so many sentences are done that the next smaller of `ROWS` holds the rest, or the
    cache is full; between programs the done ones leave and the cache grows. XLA compiles a program when its
    sizes come for the first time, once for each number of sentences, length of cache and of sources: a second
    or two each, which only a process that translates for long earns back.

    Args:
        sentences: scalar int32 tensor, how many of the sentences are real: the batch was filled up to one of
            `ROWS`.

    Returns:
        A function with the arguments of `keraszoo.search.loop.run`, for TensorFlow's graphs.
    """
    import tensorflow as tf

    tree = tf.nest.map_structure

    def run(advance, found, state, constants, lengths, beam_width=1, compact=True):
        @tf.function(jit_compile=True, autograph=False)
        def stage(found, state, constants, until, enough):
            """Steps up to a position, while there are more than `enough` sentences to go on with."""

            def goes_on(found, state):
                some = tf.reduce_sum(tf.cast(found["live"], "int32")) > enough
                return tf.logical_and(state["position"] < until, some)

            return tf.while_loop(goes_on, lambda f, s: advance(f, s, constants), (found, state))

        until = tf.constant(lengths)
        total = tf.shape(found["live"])[0]
        found = {**found, "live": tf.logical_and(found["live"], tf.range(total) < sentences)}
        results = tree(lambda x: tf.concat([x, x[:1]], axis=0), found)  # the last row is never read

        def goes_on(results, places, found, state, constants, index):
            return tf.logical_and(tf.reduce_any(found["live"]), state["position"] < lengths[-1])

        def next_stage(results, places, found, state, constants, index):
            rows = tf.size(places)
            enough = tf.reduce_max(tf.where(tf.constant(ROWS) < rows, ROWS, 0))
            found, state = stage(found, state, constants, until[index], enough)
            results = tree(
                lambda all, some: tf.tensor_scatter_nd_update(all, places[:, None], some), results, found
            )
            # who lives, filled up with copies of one that count as done and are written to the last row
            live = tf.cast(tf.where(found["live"])[:, 0], "int32")
            count = tf.size(live)
            rows = tf.minimum(rows, at_least(ROWS, count))
            chosen = tf.pad(live, [[0, rows - count]])
            real = tf.range(rows) < count

            def take(part):
                return tree(lambda x: tf.gather(x, chosen), part)

            places = tf.where(real, tf.gather(places, chosen), total)
            found = take(found)
            found["live"] = tf.logical_and(found["live"], real)
            full = tf.logical_and(state["position"] >= until[index], index + 1 < len(lengths))
            after = index + tf.cast(full, "int32")
            state = lengthen(select_sentences(state, chosen, beam_width), until[after] - until[index])
            return results, places, found, state, take(constants), after

        first = (results, tf.range(total), found, state, constants, tf.constant(0))
        varying = {"cache": (0, 2), "history": (0, 1)}

        def shapes(part, axes=(0,)):
            return tree(
                lambda x: tf.TensorShape([None if i in axes else n for i, n in enumerate(x.shape)]), part
            )

        invariants = [shapes(part) for part in first]
        invariants[3] = {key: shapes(part, varying.get(key, (0,))) for key, part in state.items()}
        results, *_ = tf.while_loop(goes_on, next_stage, first, shape_invariants=tuple(invariants))
        return tree(lambda x: x[:total], results)

    return run

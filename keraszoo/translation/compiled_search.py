"""Search over batches of ids, compiled: used by `Translator` and by its export."""

from functools import partial

import keras
import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.search import Hypotheses, cache_lengths, search
from keraszoo.search.loop import run as run_stages
from keraszoo.search.sampling import numbers_of
from keraszoo.search.state import lengthen, select_sentences, take
from keraszoo.training.held_out import jitted_on_jax

# XLA programs are compiled for these lengths of sources and numbers of sentences.
COLUMNS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
ROWS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
ALONE_AT_FIRST = 16  # single sentences before XLA compiles a program for them


class CompiledSearch:
    """Searches of one model; each kind is compiled once and kept.

    On TensorFlow, a single sentence takes the graph of batches at first. After `ALONE_AT_FIRST` of them, XLA
    compiles a program for single sentences. That takes seconds, and then each takes half the time.

    Args:
        model: a `TranslationModel`.
        special: the target's `SpecialIds`.
        source_special: the source's.
    """

    def __init__(self, model, special, source_special):
        self.model = model
        self.special = special
        self.source_special = source_special
        self._compiled = {}
        self._alone = 0

    def __call__(self, source, options, attention=False, prefix=None):
        """Searches for the translations of int `(B, S)` sources; returns `Hypotheses` of NumPy arrays."""
        inputs = [source] if prefix is None else [source, prefix]
        key = (options, attention, prefix is None)
        if keras.backend.backend() == "tensorflow":
            alone = len(source) == 1
            self._alone += alone
            key = (*key, "single" if alone and self._alone > ALONE_AT_FIRST else "never")
            if key not in self._compiled:
                self._compiled[key] = self.graph(options, attention, prefix is not None, key[-1])
            return Hypotheses(*(part.numpy() for part in self._compiled[key](*inputs)))
        if key not in self._compiled:
            self._compiled[key] = jitted_on_jax(partial(self.tensors, options, attention), self.model)
        sentences = rows = len(source)
        if sentences and keras.backend.backend() == "jax":  # a program for each power of two
            rows = 1 << (sentences - 1).bit_length()
        rows = np.minimum(np.arange(rows), sentences - 1)  # repeats the last sentence
        tensors = self._compiled[key](*(ops.convert_to_tensor(part[rows]) for part in inputs))
        return Hypotheses(*(ops.convert_to_numpy(part)[:sentences] for part in tensors))

    def tensors(self, options, attention, source, prefix=None, lengths=None, loop=run_stages):
        """Encodes sources and searches for their translations, in eager mode or inside a graph.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            source: int `(B, S)`, each row ended by `</s>` and padded.
            prefix, lengths, loop: as for `greedy_search`.

        Returns:
            The tensors of `Hypotheses`, in order: four, or five with attention weights.
        """
        lengths = lengths or cache_lengths(options.max_length)
        state = self.model.initial_state(self.model.encode(source), options.beam_width, lengths[0])
        step = self.model.step
        if keras.backend.backend() == "tensorflow":
            step = traced_once(step, state)
        special = self.special
        arguments = {
            "start_id": special.start_id,
            "end_id": special.end_id,
            "never": (special.pad_id, special.start_id),
            "prefix": prefix,
            "attention": attention,
            "lengths": lengths,
            "loop": loop,
        }
        if options.sampling:  # the random seed is derived per sentence, so results do not depend on the batch
            arguments["numbers"] = numbers_of(source, self.model.source_pad_id)
        best = search(step, state, options, **arguments)
        return tuple(part for part in vars(best).values() if part is not None)

    def graph(self, options, attention=False, prefixed=False, jit_compile="single"):
        """The search as a TensorFlow graph, for any number of sentences, including none.

        With few rows, most of a step's time goes into launching operations. XLA saves that, but compiles one
        program per shape. `"single"`: a sentence that comes alone runs in such a program, one for each source
        length of `COLUMNS`; several run in the plain graph, where finished sentences leave the batch.
        `"all"`: XLA also compiles the steps of every batch, see `staged_loop`. Greedy search of 64 sentences
        is then 1.8 times as fast once some dozens of programs are compiled, a beam of 5 1.2 times.
        `"never"`: none.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            prefixed: whether the function takes prefixes as a second argument.
            jit_compile: `"single"`, `"all"` or `"never"`.

        Returns:
            A `tf.function` of int32 `(B, S)` (and int32 `(B, P)`) that returns the tensors of `Hypotheses`.

        Raises:
            KerasZooError: for another `jit_compile`.
        """
        import tensorflow as tf

        if jit_compile not in ("single", "all", "never"):
            raise KerasZooError(f"jit_compile must be single, all or never, got {jit_compile!r}")
        specs = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]
        if prefixed:
            specs.append(tf.TensorSpec([None, None], tf.int32, name="prefix_ids"))
        tensors = partial(self.tensors, options, attention)
        find_one = tf.function(lambda *inputs: tensors(*inputs), jit_compile=True, autograph=False)

        def find_many(*inputs):
            lengths = cache_lengths(options.max_length, first=8, factor=1.5)
            return tensors(*inputs, lengths=lengths, loop=partial(run_stages, compact=True))

        def find_compiled(sentences, *inputs):
            lengths = cache_lengths(options.max_length, first=16, factor=4)
            return tensors(*inputs, lengths=lengths, loop=staged_loop(sentences))

        def fill_up(source, prefix, rows, columns):
            """Pads to the shape of a program."""
            sentences, length = tf.unstack(tf.shape(source))
            rows, columns = rows - sentences, columns - length
            source = tf.pad(source, [[0, rows], [0, columns]], constant_values=self.source_special.pad_id)
            return source, *(tf.pad(part, [[0, rows], [0, 0]], constant_values=-1) for part in prefix)

        @tf.function(input_signature=specs, autograph=False)
        def run(source, *prefix):
            sentences, length = tf.unstack(tf.shape(source))
            some, columns = tf.maximum(sentences, 1), tf.maximum(length, 1)
            fitting = at_least(COLUMNS, columns)

            def one():
                return find_one(*fill_up(source, prefix, some, fitting))

            def many():
                if jit_compile == "all":
                    inputs = fill_up(source, prefix, at_least(ROWS, some), fitting)
                    return find_compiled(sentences, *inputs)
                return find_many(*fill_up(source, prefix, some, columns))

            parts = many() if jit_compile == "never" else tf.cond(sentences < 2, one, many)
            parts = [part[:sentences] for part in parts]
            return (*parts[:4], parts[4][..., :length]) if attention else tuple(parts)

        return run

    def pad(self, rows):
        """Rows of ids to int32 `(B, S)`, each ended by `</s>`.

        Args:
            rows: list of lists of int, without `</s>`.
        """
        longest = max(map(len, rows)) + 1
        if keras.backend.backend() != "tensorflow":  # few shapes, because each is compiled
            longest = next((columns for columns in COLUMNS if columns >= longest), longest)
        end_id, pad_id = self.source_special.end_id, self.source_special.pad_id
        return padded([[*row, end_id] for row in rows], longest, pad_id)

    def pad_prefixes(self, rows):
        """Prefixes to int32 `(B, P)`, -1 where a position is free; `None` if all are empty.

        P is a multiple of 8, because XLA compiles one program for each P.

        Args:
            rows: list of lists of int.
        """
        longest = max(map(len, rows))
        return padded(rows, -(-longest // 8) * 8, -1) if longest else None


def padded(rows, length, value):
    """Lists of int as int32 `(B, length)`, filled up with a value."""
    return np.array([[*row, *[value] * (length - len(row))] for row in rows], "int32")


def traced_once(step, state):
    """A model's `step` as one graph that all stages of a search share.

    Args:
        step: the model's.
        state: an initial state; the number of its rows and the lengths of sources and caches may vary later.

    Returns:
        A function like `step`, for TensorFlow.
    """
    import tensorflow as tf

    varying = {"cache": (0, 2), "history": (0, 1), "attention_weights": (0, 1), "position": ()}

    def specs(key, part):
        return tf.nest.map_structure(
            lambda x: tf.TensorSpec(with_free_axes(x, varying.get(key, (0,))), x.dtype), part
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


def staged_loop(sentences):
    """A loop like `keraszoo.search.loop.run` whose steps XLA compiles, for servers that see few sizes.

    A program runs until the next smaller size of `ROWS` holds the sentences that are not done, or the cache
    is full. Between programs, finished sentences leave and the cache grows. XLA compiles a program per number
    of sentences, cache length and source length, one or two seconds each.

    Args:
        sentences: scalar int32 tensor, the number of real sentences in a batch that was filled up to `ROWS`.

    Returns:
        A function with the arguments of `keraszoo.search.loop.run`, for TensorFlow's graphs.
    """
    import tensorflow as tf

    tree = tf.nest.map_structure

    def run(advance, progress, state, constants, lengths, beam_width=1):
        @tf.function(jit_compile=True, autograph=False)
        def stage(progress, state, constants, until, enough):
            """Steps up to a position, while more than `enough` sentences are live."""

            def goes_on(progress, state):
                some = tf.reduce_sum(tf.cast(progress["live"], "int32")) > enough
                return tf.logical_and(state["position"] < until, some)

            return tf.while_loop(goes_on, lambda p, s: advance(p, s, constants), (progress, state))

        until = tf.constant(lengths)
        total = tf.shape(progress["live"])[0]
        progress = {**progress, "live": tf.logical_and(progress["live"], tf.range(total) < sentences)}
        results = tree(lambda x: tf.concat([x, x[:1]], axis=0), progress)  # the last row is never read

        def goes_on(results, places, progress, state, constants, index):
            return tf.logical_and(tf.reduce_any(progress["live"]), state["position"] < lengths[-1])

        def next_stage(results, places, progress, state, constants, index):
            rows = tf.size(places)
            enough = tf.reduce_max(tf.where(tf.constant(ROWS) < rows, ROWS, 0))
            progress, state = stage(progress, state, constants, until[index], enough)
            results = tree(
                lambda all, some: tf.tensor_scatter_nd_update(all, places[:, None], some), results, progress
            )
            # keep live sentences; fill up with copies of one that count as done and go to the last row
            live = tf.cast(tf.where(progress["live"])[:, 0], "int32")
            count = tf.size(live)
            rows = tf.minimum(rows, at_least(ROWS, count))
            chosen, real = tf.pad(live, [[0, rows - count]]), tf.range(rows) < count
            places = tf.where(real, tf.gather(places, chosen), total)
            progress = take(progress, chosen)
            progress["live"] = tf.logical_and(progress["live"], real)
            full = tf.logical_and(state["position"] >= until[index], index + 1 < len(lengths))
            after = index + tf.cast(full, "int32")
            state = lengthen(select_sentences(state, chosen, beam_width), until[after] - until[index])
            return results, places, progress, state, take(constants, chosen), after

        def shapes(part, axes=(0,)):
            return tree(lambda x: tf.TensorShape(with_free_axes(x, axes)), part)

        first = (results, tf.range(total), progress, state, constants, tf.constant(0))
        varying = {"cache": (0, 2), "history": (0, 1)}
        invariants = [shapes(part) for part in first]
        invariants[3] = {key: shapes(part, varying.get(key, (0,))) for key, part in state.items()}
        results, *_ = tf.while_loop(goes_on, next_stage, first, shape_invariants=tuple(invariants))
        return tree(lambda x: x[:total], results)

    return run

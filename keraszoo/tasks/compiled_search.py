"""Search over batches of ids, compiled: what `Translator` runs and what it exports."""

import keras
import numpy as np
from keras import ops

from keraszoo.search import Hypotheses, cache_lengths, search

COLUMNS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # source lengths of compiled programs


def search_ids(model, options, special, source, prefix=None, attention=False, lengths=None, **loop):
    """Encodes sources and searches for their translations.

    Args:
        model: a `TranslationModel`.
        options: `SearchOptions`.
        special: the target's `SpecialIds`.
        source: int `(B, S)`, each row ended by `</s>` and padded.
        prefix: int `(B, P)`, see `greedy_search`.
        attention: return attention weights.
        lengths: stages of the cache.
        **loop: `compact` of `keraszoo.search.loop.run`.

    Returns:
        `Hypotheses`.
    """
    lengths = lengths or cache_lengths(options.max_length)
    state = model.initial_state(model.encode(source), options.beam_width, lengths[0])
    step = model.step
    if keras.backend.backend() == "tensorflow":
        step = traced_once(step, state)
    return search(
        step,
        state,
        options,
        start_id=special.start_id,
        end_id=special.end_id,
        never=(special.pad_id, special.start_id),
        prefix=prefix,
        attention=attention,
        lengths=lengths,
        **loop,
    )


def traced_once(step, state):
    """A model's `step` as one graph that the stages of a search share, instead of tracing one each.

    Args:
        step: the model's.
        state: an initial state, of which the number of rows and the lengths of sources and caches may vary.

    Returns:
        A function like `step`, for TensorFlow.
    """
    import tensorflow as tf

    def spec(key, part):
        varying = {"cache": (0, 2), "history": (0, 1), "attention_weights": (0, 1), "position": ()}
        axes = varying.get(key, (0,))
        return tf.nest.map_structure(
            lambda x: tf.TensorSpec([None if i in axes else n for i, n in enumerate(x.shape)], x.dtype), part
        )

    signature = [tf.TensorSpec([None], tf.int32), {key: spec(key, part) for key, part in state.items()}]
    graph = tf.function(step, input_signature=signature, autograph=False)

    def once(tokens, state):
        logits, after = graph(tokens, state)
        tf.nest.map_structure(lambda new, old: new.set_shape(old.shape), after, state)
        return logits, after

    return once


def tensorflow_search(
    model, options, special, source_pad_id, attention=False, prefixed=False, jit_compile=True
):
    """The search as a TensorFlow graph, for any number of sentences, also none.

    The cost of a step of one row is that of launching operations, which XLA saves: a sentence that comes
    alone goes through a program that is compiled when it is first needed, once for each of the lengths
    `COLUMNS`. Several sentences go through the plain graph, where those that are done leave the batch.

    Args:
        model, options, special: as for `search_ids`.
        source_pad_id: id of padding in the source.
        attention: return attention weights.
        prefixed: the function takes prefixes as a second argument.
        jit_compile: `False` uses the plain graph throughout.

    Returns:
        A `tf.function` of int32 `(B, S)` (and int32 `(B, P)`) that gives a tuple of the tensors of
        `Hypotheses`.
    """
    import tensorflow as tf

    specs = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]
    if prefixed:
        specs.append(tf.TensorSpec([None, None], tf.int32, name="prefix_ids"))

    def find(source, *prefix, **loop):
        found = search_ids(model, options, special, source, *prefix, attention=attention, **loop)
        some = (found.tokens, found.lengths, found.log_prob, found.score)
        return (*some, found.attention_weights) if attention else some

    def find_many(source, *prefix):
        lengths = cache_lengths(options.max_length, first=8, factor=1.5)
        return find(source, *prefix, lengths=lengths, compact=True)

    find_one = tf.function(find, jit_compile=True, autograph=False)

    @tf.function(input_signature=specs, autograph=False)
    def run(source, *prefix):
        sentences, length = tf.unstack(tf.shape(source))
        missing = tf.maximum(
            1 - sentences, 0
        )  # no sentence becomes one of padding, which is cut off in the end
        fitting = tf.boolean_mask(tf.constant(COLUMNS), tf.constant(COLUMNS) >= tf.maximum(length, 1))
        columns = tf.cond(tf.size(fitting) > 0, lambda: fitting[0], lambda: length)
        columns = tf.where(sentences < 2, columns, length) if jit_compile else length
        padding = [[0, missing], [0, tf.maximum(columns, 1) - length]]
        source = tf.pad(source, padding, constant_values=source_pad_id)
        prefix = [tf.pad(part, [[0, missing], [0, 0]], constant_values=-1) for part in prefix]
        if jit_compile:
            one = tf.equal(tf.shape(source)[0], 1)
            found = tf.cond(one, lambda: find_one(source, *prefix), lambda: find_many(source, *prefix))
        else:
            found = find_many(source, *prefix)
        found = [part[:sentences] for part in found]
        return (*found[:4], found[4][..., :length]) if attention else tuple(found)

    return run


class CompiledSearch:
    """Searches of one model, each kind compiled once and kept.

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

    def __call__(self, source, options, attention=False, prefix=None):
        """Searches for the translations of int `(B, S)` sources; gives `Hypotheses` of NumPy arrays."""
        if keras.backend.backend() == "tensorflow":
            key = (options, attention, prefix is not None)
            if key not in self._compiled:
                self._compiled[key] = tensorflow_search(
                    self.model,
                    options,
                    self.special,
                    self.source_special.pad_id,
                    attention,
                    prefix is not None,
                )
            inputs = [source] if prefix is None else [source, prefix]
            found = Hypotheses(*(part.numpy() for part in self._compiled[key](*inputs)))
        else:
            found = search_ids(
                self.model, options, self.special, ops.convert_to_tensor(source), prefix, attention
            )
            parts = (found.tokens, found.lengths, found.log_prob, found.score, found.attention_weights)
            found = Hypotheses(*(None if part is None else ops.convert_to_numpy(part) for part in parts))
        return found

    def pad(self, rows):
        """Rows of ids to int32 `(B, S)`, each ended by `</s>`.

        Args:
            rows: list of lists of int, without `</s>`.
        """
        longest = max(map(len, rows)) + 1
        if keras.backend.backend() != "tensorflow":  # few shapes, as each is compiled
            longest = next((columns for columns in COLUMNS if columns >= longest), longest)
        source = np.full((len(rows), longest), self.source_special.pad_id, "int32")
        for i, row in enumerate(rows):
            source[i, : len(row)] = row
            source[i, len(row)] = self.source_special.end_id
        return source

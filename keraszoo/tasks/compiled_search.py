"""Search over batches of ids, compiled: what `Translator` runs and what it exports."""

import keras
import numpy as np
from keras import ops

from keraszoo.search import Hypotheses, cache_lengths, search

COLUMNS = (8, 16, 32, 64, 128, 256, 512, 1024)  # lengths that a source is padded to where shapes are compiled


def search_ids(model, options, special, source, prefix=None, attention=False, compact=False, lengths=None):
    """Encodes sources and searches for their translations.

    Args:
        model: a `TranslationModel`.
        options: `SearchOptions`.
        special: the target's `SpecialIds`.
        source: int `(B, S)`, each row ended by `</s>` and padded.
        prefix: int `(B, P)`, see `greedy_search`.
        attention: return attention weights.
        compact: see `keraszoo.search.loop.run`.
        lengths: stages of the cache.

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
        compact=compact,
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


def tensorflow_search(model, options, special, source_pad_id, attention=False, prefixed=False):
    """The search as a TensorFlow graph, for any number of sentences, also none.

    A single sentence goes through a program that XLA compiled for its length rounded up to one of `COLUMNS`:
    at one row the cost of a step is that of launching operations, which XLA saves. Several sentences go
    through the plain graph, where those that are done leave the batch.

    Args:
        model, options, special: as for `search_ids`.
        source_pad_id: id of padding in the source.
        attention: return attention weights.
        prefixed: the function takes prefixes as a second argument.

    Returns:
        A `tf.function` of int32 `(B, S)` (and int32 `(B, P)`) that gives a tuple of the tensors of
        `Hypotheses`.
    """
    import tensorflow as tf

    specs = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]
    if prefixed:
        specs.append(tf.TensorSpec([None, None], tf.int32, name="prefix_ids"))

    def tensors(found):
        some = (found.tokens, found.lengths, found.log_prob, found.score)
        return (*some, found.attention_weights) if attention else some

    def many(source, *prefix):
        fine = cache_lengths(options.max_length, first=8, factor=1.5)
        return tensors(
            search_ids(
                model, options, special, source, *prefix, attention=attention, compact=True, lengths=fine
            )
        )

    @tf.function(jit_compile=True, autograph=False)
    def compiled(source, *prefix):
        return tensors(search_ids(model, options, special, source, *prefix, attention=attention))

    def single(source, *prefix):
        length = tf.shape(source)[1]
        columns = tf.constant(COLUMNS)
        fitting = tf.boolean_mask(columns, columns >= length)
        room = tf.cond(tf.size(fitting) > 0, lambda: fitting[0], lambda: length) - length
        padded = tf.pad(source, [[0, 0], [0, room]], constant_values=source_pad_id)
        results = compiled(padded, *prefix)
        return (*results[:4], results[4][..., :length]) if attention else results

    @tf.function(input_signature=specs, autograph=False)
    def run(source, *prefix):
        sentences = tf.shape(source)[0]
        # no sentence at all becomes one of padding, whose result is cut off again
        some = tf.pad(
            source,
            [[0, tf.maximum(1 - sentences, 0)], [0, tf.maximum(1 - tf.shape(source)[1], 0)]],
            constant_values=source_pad_id,
        )
        prefix = [
            tf.pad(part, [[0, tf.maximum(1 - sentences, 0)], [0, 0]], constant_values=-1) for part in prefix
        ]
        results = tf.cond(
            tf.equal(tf.shape(some)[0], 1), lambda: single(some, *prefix), lambda: many(some, *prefix)
        )
        return tuple(part[:sentences] for part in results)

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

"""Search over batches of ids, compiled: what `Translator` runs and what it exports."""

from functools import partial

import keras
import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.search import Hypotheses, cache_lengths, search
from keraszoo.search.loop import run as run_stages
from keraszoo.search.sampling import numbers_of
from keraszoo.training.held_out import jitted_on_jax
from keraszoo.translation.staged_loop import ROWS, at_least, staged_loop

COLUMNS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # source lengths of compiled programs
ALONE_AT_FIRST = 16  # sentences that come alone before XLA compiles a program for them


def search_ids(model, options, special, source, prefix=None, attention=False, lengths=None, **ways):
    """Encodes sources and searches for their translations.

    Args:
        model: a `TranslationModel`.
        options: `SearchOptions`.
        special: the target's `SpecialIds`.
        source: int `(B, S)`, each row ended by `</s>` and padded.
        prefix: int `(B, P)`, see `greedy_search`.
        attention: return attention weights.
        lengths: stages of the cache.
        **ways: `loop` of `greedy_search`.

    Returns:
        `Hypotheses`.
    """
    lengths = lengths or cache_lengths(options.max_length)
    state = model.initial_state(model.encode(source), options.beam_width, lengths[0])
    step = model.step
    if keras.backend.backend() == "tensorflow":
        step = traced_once(step, state)
    if options.sampling:  # a text's luck is its own, whatever it is translated with
        ways["numbers"] = numbers_of(source, model.source_pad_id)
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
        **ways,
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
    model, options, special, source_pad_id, attention=False, prefixed=False, jit_compile="single"
):
    """The search as a TensorFlow graph, for any number of sentences, also none.

    Launching operations is what a step of few rows costs, and XLA saves it, for a program that is compiled
    when sizes come for the first time. `"single"`: a sentence that comes alone goes through such a program,
    one for each of the source lengths `COLUMNS`; several go through the plain graph, where those that are
    done leave the batch. `"all"`: the steps of every batch too, see `staged_loop`; greedy search of 64 is
    1.8 times as fast once some dozens of programs are compiled, with a beam of 5 it is 1.2 times. `"never"`:
    none.

    Args:
        model, options, special: as for `search_ids`.
        source_pad_id: id of padding in the source.
        attention: return attention weights.
        prefixed: the function takes prefixes as a second argument.
        jit_compile: `"single"`, `"all"` or `"never"`.

    Returns:
        A `tf.function` of int32 `(B, S)` (and int32 `(B, P)`) that gives a tuple of the tensors of
        `Hypotheses`.

    Raises:
        KerasZooError: for another `jit_compile`.
    """
    import tensorflow as tf

    if jit_compile not in ("single", "all", "never"):
        raise KerasZooError(f"jit_compile must be single, all or never, got {jit_compile!r}")
    specs = [tf.TensorSpec([None, None], tf.int32, name="source_ids")]
    if prefixed:
        specs.append(tf.TensorSpec([None, None], tf.int32, name="prefix_ids"))

    def find(source, *prefix, **ways):
        found = search_ids(model, options, special, source, *prefix, attention=attention, **ways)
        some = (found.tokens, found.lengths, found.log_prob, found.score)
        return (*some, found.attention_weights) if attention else some

    find_one = tf.function(find, jit_compile=True, autograph=False)

    def find_many(source, *prefix):
        lengths = cache_lengths(options.max_length, first=8, factor=1.5)
        return find(source, *prefix, lengths=lengths, loop=partial(run_stages, compact=True))

    def find_compiled(sentences, source, *prefix):
        lengths = cache_lengths(options.max_length, first=16, factor=4)
        return find(source, *prefix, lengths=lengths, loop=staged_loop(sentences))

    def fill_up(source, prefix, rows, columns):
        """Sentences of padding and columns of it, to the sizes of a program."""
        sentences, length = tf.unstack(tf.shape(source))
        rows, columns = rows - sentences, columns - length
        source = tf.pad(source, [[0, rows], [0, columns]], constant_values=source_pad_id)
        return source, *(tf.pad(part, [[0, rows], [0, 0]], constant_values=-1) for part in prefix)

    @tf.function(input_signature=specs, autograph=False)
    def run(source, *prefix):
        sentences, length = tf.unstack(tf.shape(source))
        some, columns = tf.maximum(sentences, 1), tf.maximum(length, 1)
        if jit_compile == "never":
            found = find_many(*fill_up(source, prefix, some, columns))
        else:
            fitting = at_least(COLUMNS, columns)
            found = tf.cond(
                sentences < 2,
                lambda: find_one(*fill_up(source, prefix, some, fitting)),
                lambda: (
                    find_compiled(sentences, *fill_up(source, prefix, at_least(ROWS, some), fitting))
                    if jit_compile == "all"
                    else find_many(*fill_up(source, prefix, some, columns))
                ),
            )
        found = [part[:sentences] for part in found]
        return (*found[:4], found[4][..., :length]) if attention else tuple(found)

    return run


class CompiledSearch:
    """Searches of one model, each kind compiled once and kept.

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
        """Searches for the translations of int `(B, S)` sources; gives `Hypotheses` of NumPy arrays."""
        if keras.backend.backend() == "tensorflow":
            alone = len(source) == 1
            self._alone += alone
            way = "single" if alone and self._alone > ALONE_AT_FIRST else "never"
            key = (options, attention, prefix is not None, way)
            if key not in self._compiled:
                self._compiled[key] = tensorflow_search(
                    self.model,
                    options,
                    self.special,
                    self.source_special.pad_id,
                    attention,
                    prefix is not None,
                    way,
                )
            inputs = [source] if prefix is None else [source, prefix]
            found = Hypotheses(*(part.numpy() for part in self._compiled[key](*inputs)))
        else:
            found = self._found_elsewhere(source, options, attention, prefix)
        return found

    def _found_elsewhere(self, source, options, attention, prefix):
        """The same on other backends; JAX compiles it, for numbers of sentences that are powers of two."""
        key = (options, attention)
        if key not in self._compiled:

            def find(*inputs):
                found = search_ids(self.model, options, self.special, *inputs, attention=attention)
                parts = (found.tokens, found.lengths, found.log_prob, found.score, found.attention_weights)
                return [part for part in parts if part is not None]

            self._compiled[key] = jitted_on_jax(find, self.model)
        sentences = rows = len(source)
        if sentences and keras.backend.backend() == "jax":
            rows = 1 << (sentences - 1).bit_length()
        rows = np.minimum(np.arange(rows), sentences - 1)
        inputs = [ops.convert_to_tensor(part[rows]) for part in (source, prefix) if part is not None]
        found = self._compiled[key](*inputs)  # the last sentence comes several times, and is cut off here
        return Hypotheses(*(ops.convert_to_numpy(part)[:sentences] for part in found))

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

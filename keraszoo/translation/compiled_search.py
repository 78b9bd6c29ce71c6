"""Search over batches of ids in graphs: used by `Translator` and by its export."""

import functools
import threading
from functools import partial

import keras
import numpy as np
from keras import ops
from keras.utils import pad_sequences

from keraszoo.compiling import compiled
from keraszoo.search import Hypotheses, cache_lengths, search
from keraszoo.search import loop as plain_loop
from keraszoo.search.options import NUMERIC
from keraszoo.search.sampling import numbers_of, seeded
from keraszoo.translation import graph_loop

KEPT = 8  # graphs of a model, some 40 MB each; the one that was not used for longest goes first
COLUMNS = (16, 48, 128)  # lengths of the source in XLA's programs for a single sentence
JAX_COLUMNS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # a program for each length of sources


class CompiledSearch:
    """Searches of one model: a graph for each `SearchOptions.kind`, traced once for all batches.

    Numbers such as the length penalty are arguments of the graph.

    Args:
        model: a `TranslationModel`.
        special: the target's `SpecialIds`.
        source_special: the source's.
    """

    def __init__(self, model, special, source_special):
        self.model = model
        self.special = special
        self.source_special = source_special
        self._lock = threading.Lock()  # threads may share a translator
        self._plain = functools.lru_cache(KEPT)(self._function)
        self._by_xla = {}

    def __call__(self, source, options, attention=False, prefix=None, terms=None):
        """Searches for the translations of int `(B, S)` sources; returns `Hypotheses` of NumPy arrays."""
        inputs = {"source": source, "numeric": np.array(options.numeric, "float32")}
        inputs |= {name: x for name, x in (("prefix", prefix), ("terms", terms)) if x is not None}
        if options.sampling:
            numbers = seeded(numbers_of(source, self.model.source_pad_id), options.seed)
            inputs["numbers"] = ops.convert_to_numpy(numbers)
        key, sentences = (options.kind, attention, *inputs), len(source)
        with self._lock:
            run = self._by_xla.get(key) or self._plain(*key)
        if keras.backend.backend() == "jax" and sentences:  # a program for each power of two
            rows = np.minimum(np.arange(1 << (sentences - 1).bit_length()), sentences - 1)  # repeats the last
            inputs = {name: x if name == "numeric" else x[rows] for name, x in inputs.items()}
        parts = run(*map(ops.convert_to_tensor, inputs.values()))
        few = slice(sentences), slice(options.num_hypotheses)
        return Hypotheses(*(ops.convert_to_numpy(part)[few] for part in parts))

    def warm_up(self, options):
        """Lets XLA compile the searches of this kind, in place of the plain graph; see `graph`."""
        key = options.kind, False, "source", "numeric", *(["numbers"] if options.sampling else [])
        with self._lock:
            self._by_xla.setdefault(key, self.graph(options.kind, False, key[2:], jit_compile=True))

    def _function(self, kind, attention, *inputs):
        """A function of these arguments of `tensors`, as the backend compiles it."""
        if keras.backend.backend() == "tensorflow":
            return self.graph(kind, attention, inputs)
        find = partial(self.tensors, kind, attention)
        return compiled(lambda *given: find(**dict(zip(inputs, given, strict=True))), self.model)

    def tensors(
        self,
        options,
        attention,
        source,
        numeric=None,
        prefix=None,
        terms=None,
        numbers=None,
        lengths=None,
        loop=plain_loop.run,
    ):
        """Encodes sources and searches for their translations, in eager mode or inside a graph.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            source: int `(B, S)`, each row ended by `</s>` and padded.
            numeric: float32, the values of `NUMERIC`; `None`: those of the options.
            prefix, lengths, loop: as for `greedy_search`.
            terms: as for `beam_search`.
            numbers: int32 `(B,)`, seeds of the sentences for sampling; `None`: `numbers_of` the sources.

        Returns:
            The tensors of `Hypotheses`, in order: four, or five with attention weights.
        """
        model, special = self.model, self.special
        if keras.backend.backend() == "tensorflow":
            model = graph_loop.TracedModel(model)
        if numeric is not None:
            options = options.with_numeric(ops.unstack(numeric, len(NUMERIC)))
        arguments = {
            "start_id": special.start_id,
            "end_id": special.end_id,
            "never": (special.pad_id, special.start_id),
            "prefix": prefix,
            "attention": attention,
            "lengths": lengths,
            "loop": loop,
        }
        if terms is not None:
            arguments["terms"] = terms
        if options.sampling:  # the random seed is derived per sentence, so results do not depend on the batch
            arguments["numbers"] = (
                numbers_of(source, self.model.source_pad_id) if numbers is None else numbers
            )
        best = search(model, self.model.encode(source), options, **arguments)
        return tuple(part for part in vars(best).values() if part is not None)

    def graph(self, options, attention=False, inputs=("source",), jit_compile=False):
        """The search as a TensorFlow graph, for any number of sentences, including none.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            inputs: which arguments of `tensors` the function takes, names in order; the first is `"source"`.
            jit_compile: whether XLA compiles programs for single sentences, one for each of `COLUMNS`. Others
                take the plain graph.

        Returns:
            A `tf.function` that returns the tensors of `Hypotheses`.
        """
        import tensorflow as tf

        floats, ids = (tf.TensorSpec([len(NUMERIC)], "float32"), tf.TensorSpec([None, None], "int32"))
        specs = {"source": ids, "numeric": floats, "prefix": ids, "numbers": tf.TensorSpec([None], "int32")}
        specs["terms"] = tf.TensorSpec([None, None, None], "int32")
        find = partial(self.tensors, options, attention)
        lengths = cache_lengths(options.max_length, first=8, factor=1.5)
        plain = partial(find, lengths=lengths, loop=graph_loop.run)
        lengths = cache_lengths(options.max_length, first=128, factor=4)  # each is compiled
        compiled = tf.function(partial(find, lengths=lengths), autograph=False, jit_compile=True)

        def padded(source, columns):
            wider = [[0, 0], [0, columns - tf.shape(source)[1]]]
            return tf.pad(source, wider, constant_values=self.source_special.pad_id)

        def by_xla(source, **others):
            length = tf.shape(source)[1]
            columns = tf.reduce_min(tf.where(tf.constant(COLUMNS) >= length, COLUMNS, COLUMNS[-1]))
            return compiled(source=padded(source, columns), **others)

        def run(*tensors):
            tensors = {name: tf.identity(x, name) for name, x in zip(inputs, tensors, strict=True)}
            sentences, length = tf.unstack(tf.shape(tensors["source"]))
            tensors["source"] = padded(tensors["source"], tf.maximum(length, 1))
            if jit_compile:
                alone = (sentences == 1) & (length <= COLUMNS[-1])
                parts = tf.cond(alone, lambda: by_xla(**tensors), lambda: plain(**tensors))
            else:
                parts = plain(**tensors)
            return (*parts[:4], parts[4][..., :length]) if attention else parts

        return tf.function(run, input_signature=[specs[name] for name in inputs], autograph=False)

    def pad(self, rows):
        """Lists of ids without `</s>` to int32 `(B, S)`, each ended by `</s>`."""
        longest = max(map(len, rows)) + 1
        if keras.backend.backend() != "tensorflow":  # few shapes, because each is compiled
            longest = next((columns for columns in JAX_COLUMNS if columns >= longest), longest)
        end_id, pad_id = self.source_special.end_id, self.source_special.pad_id
        return pad_sequences([[*row, end_id] for row in rows], longest, padding="post", value=pad_id)

    def pad_prefixes(self, rows):
        """Lists of ids to int32 `(B, P)`, -1 where a position is free; `None` if all are empty.

        P is a multiple of 8, because JAX compiles one program for each P.
        """
        longest = max(map(len, rows))
        return pad_sequences(rows, -(-longest // 8) * 8, padding="post", value=-1) if longest else None

    def pad_terms(self, rows):
        """Lists of lists of lists of ids to int32 `(B, C, L)`, filled up with -1; `None` if there are none.

        C and L are powers of two, because JAX compiles one program for each.
        """
        number, longest = max(map(len, rows)), max((len(term) for terms in rows for term in terms), default=0)
        if not number:
            return None
        terms = np.full(
            (len(rows), *(1 << (size - 1).bit_length() for size in (number, longest))), -1, "int32"
        )
        for row, of_sentence in zip(terms, rows, strict=True):
            for place, term in zip(row, of_sentence, strict=False):
                place[: len(term)] = term
        return terms

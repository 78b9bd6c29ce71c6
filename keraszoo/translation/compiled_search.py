"""Search over batches of ids, compiled: used by `Translator` and by its export."""

import threading
import weakref
from collections import Counter, OrderedDict
from functools import partial

import keras
import numpy as np
from keras import ops
from keras.utils import pad_sequences

from keraszoo.compiling import compiled
from keraszoo.search import Hypotheses, cache_lengths, search
from keraszoo.search import loop as plain_loop
from keraszoo.search.sampling import numbers_of, seeded
from keraszoo.translation import graph_loop

KEPT = 12  # searches of a process, some 40 MB each
PLAIN_AT_FIRST = 200  # calls before XLA compiles programs
JAX_COLUMNS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # a program for each length of sources

_lock = threading.RLock()  # threads may share a translator
_recent = OrderedDict()  # (weak reference to a CompiledSearch, key) of the kept searches, the last used last


def _note_use(searches, key):
    """Notes that a search is used; of more than `KEPT`, the one that was not used for longest is dropped."""
    one = weakref.ref(searches), key
    _recent[one] = None
    _recent.move_to_end(one)
    while len(_recent) > KEPT:
        (other, old), _ = _recent.popitem(last=False)
        if (owner := other()) is not None:
            owner._compiled.pop(old, None)


class CompiledSearch:
    """Searches of one model; each kind is traced once and kept.

    All models of a process together keep `KEPT` of them; the one that was not used for longest goes first.

    On TensorFlow, the first `PLAIN_AT_FIRST` calls of a kind take the plain graph, because the programs of
    XLA take a second each to compile. They double the speed of single sentences.

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
        self._calls = Counter()

    def __call__(self, source, options, attention=False, prefix=None):
        """Searches for the translations of int `(B, S)` sources; returns `Hypotheses` of NumPy arrays."""
        inputs = {"source": source} if prefix is None else {"source": source, "prefix": prefix}
        if options.sampling:
            numbers = seeded(numbers_of(source, self.model.source_pad_id), options.seed)
            inputs["numbers"] = ops.convert_to_numpy(numbers)
        options = options.replace(seed=0)  # it is in an input, so that one program serves all seeds
        key, in_graph = (options, attention, *inputs), keras.backend.backend() == "tensorflow"
        with _lock:
            self._calls[key] += 1
            key = (*key, in_graph and self._calls[key] > PLAIN_AT_FIRST)
            if key not in self._compiled:
                self._compiled[key] = (
                    self.graph(options, attention, (*inputs,), key[-1])
                    if in_graph
                    else compiled(partial(self.tensors, options, attention), self.model)
                )
            run = self._compiled[key]
            _note_use(self, key)
        if in_graph:
            return Hypotheses(*(part.numpy() for part in run(*inputs.values())))
        sentences = rows = len(source)
        if sentences and keras.backend.backend() == "jax":  # a program for each power of two
            rows = 1 << (sentences - 1).bit_length()
        rows = np.minimum(np.arange(rows), sentences - 1)  # repeats the last sentence
        tensors = run(**{name: ops.convert_to_tensor(part[rows]) for name, part in inputs.items()})
        return Hypotheses(*(ops.convert_to_numpy(part)[:sentences] for part in tensors))

    def compile_now(self, options):
        """Lets XLA compile a program when it is first needed, not after `PLAIN_AT_FIRST` calls."""
        inputs = ["source", "numbers"] if options.sampling else ["source"]
        self._calls[options.replace(seed=0), False, *inputs] = PLAIN_AT_FIRST

    def tensors(
        self, options, attention, source, prefix=None, numbers=None, lengths=None, loop=plain_loop.run
    ):
        """Encodes sources and searches for their translations, in eager mode or inside a graph.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            source: int `(B, S)`, each row ended by `</s>` and padded.
            prefix, lengths, loop: as for `greedy_search`.
            numbers: int32 `(B,)`, seeds of the sentences for sampling; `None`: `numbers_of` the sources.

        Returns:
            The tensors of `Hypotheses`, in order: four, or five with attention weights.
        """
        model, special = self.model, self.special
        if keras.backend.backend() == "tensorflow":
            model = graph_loop.TracedModel(model)
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
            arguments["numbers"] = (
                numbers_of(source, self.model.source_pad_id) if numbers is None else numbers
            )
        best = search(model, self.model.encode(source), options, **arguments)
        return tuple(part for part in vars(best).values() if part is not None)

    def graph(self, options, attention=False, inputs=("source",), jit_compile=True):
        """The search as a TensorFlow graph, for any number of sentences, including none.

        Args:
            options: `SearchOptions`.
            attention: whether to return attention weights.
            inputs: which arguments of `tensors` the function takes: `"source"`, and then `"prefix"`,
                `"numbers"` or both.
            jit_compile: whether XLA compiles programs for the steps of small batches: for 1, 4 or 16
                sentences, sources of 16, 48 or 128 subwords, and caches of 16, 64, 256 and so on up to
                `max_length` positions. Larger batches take the plain graph, which is as fast.

        Returns:
            A `tf.function` that returns the tensors of `Hypotheses`.
        """
        import tensorflow as tf

        shapes = {"source": [None, None], "prefix": [None, None], "numbers": [None]}
        specs = [tf.TensorSpec(shapes[name], tf.int32, name=name) for name in inputs]
        lengths = cache_lengths(options.max_length, first=8, factor=1.5)

        @tf.function(input_signature=specs, autograph=False)
        def run(source, *others):
            sentences, length = tf.unstack(tf.shape(source))
            columns, few = tf.maximum(length, 1), None
            if jit_compile:
                few = (sentences <= graph_loop.ROWS[-1]) & (columns <= graph_loop.COLUMNS[-1])
                columns = tf.where(few, graph_loop.at_least(graph_loop.COLUMNS, columns), columns)
            padding = [[0, 0], [0, columns - length]]
            source = tf.pad(source, padding, constant_values=self.source_special.pad_id)
            loop = partial(graph_loop.run, few=few)
            others = dict(zip(inputs[1:], others, strict=True))
            parts = self.tensors(options, attention, source, **others, lengths=lengths, loop=loop)
            return (*parts[:4], parts[4][..., :length]) if attention else parts

        return run

    def pad(self, rows):
        """Rows of ids to int32 `(B, S)`, each ended by `</s>`.

        Args:
            rows: list of lists of int, without `</s>`.
        """
        longest = max(map(len, rows)) + 1
        if keras.backend.backend() != "tensorflow":  # few shapes, because each is compiled
            longest = next((columns for columns in JAX_COLUMNS if columns >= longest), longest)
        end_id, pad_id = self.source_special.end_id, self.source_special.pad_id
        return pad_sequences([[*row, end_id] for row in rows], longest, padding="post", value=pad_id)

    def pad_prefixes(self, rows):
        """Prefixes to int32 `(B, P)`, -1 where a position is free; `None` if all are empty.

        P is a multiple of 8, because XLA compiles one program for each P.

        Args:
            rows: list of lists of int.
        """
        longest = max(map(len, rows))
        return pad_sequences(rows, -(-longest // 8) * 8, padding="post", value=-1) if longest else None

"""The contract of a translation model: four methods that search, training, export and plots use."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_optional_sizes, check_sizes, require, require_shapes, shapes_fit
from keraszoo.layers.masking import Masked
from keraszoo.layers.rows import take
from keraszoo.models.configured_model import ConfiguredModel


class TranslationModel(ConfiguredModel):
    """Base of the translation models.

        memory = model.encode(source)                           # what the decoder reads, a dict
        state = model.initial_state(memory, beam_width, length)
        logits, state = model.step(tokens, state)               # one position of every row
        logits = model((source, target_in))                     # teacher forcing: all positions
        logits, attention_weights = model((source, target_in), return_attention_weights=True)

    Stepping and teacher forcing give the same logits and attention weights. The N = B * beam_width rows of a
    state are hypotheses, those of a sentence one after the other. A search reads two keys of the state,

    * `"position"`: scalar int32, how many positions have been stepped;
    * `"attention_weights"`: float32 `(N, S)`, where the last step looked; absent if `attends` is `False`;

    and asks the model for the rest:

        state = model.select_rows(state, rows)                  # other parents within their sentences
        state = model.select_sentences(state, sentences, beam_width)
        state = model.lengthen(state, extra)                    # room for more positions
        axes = model.free_axes(state)                           # sizes that vary during a search

    The base class does this for dicts in which `"memory"` has tensors of sentences, `(B, ...)`, and every
    other key tensors of rows, `(N, ...)`. A model with another layout overrides the methods.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: number of target ids; `None`: as the source.
        source_pad_id: id of padding in the source, which is masked everywhere.
        target_pad_id: id of padding in the target, which counts in no loss; `None`: as in the source.

    Call arguments:
        inputs: `(source, target_in)`: int `(B, S)`, whose padding is masked, and int `(B, T)`, which starts
            with `<s>`.
        return_attention_weights: also return where each position looked.

    Returns:
        Logits `(B, T, V)`, with the mask of `target_in`: padding at its end counts in no loss of Keras. With
        `return_attention_weights`, `(logits, attention_weights)`, float32 `(B, T, S)`.

    Raises:
        ValueError: if attention weights are requested from a model that does not attend, or source and target
            have other numbers of sentences.

    Attributes:
        attends: whether the model has attention weights.
        of_sentences: the keys of a state whose tensors have a row per sentence; they never move when rows do.
    """

    attends = True
    output_bias = None  # a variable that is added to tied logits
    of_sentences = ("memory",)

    def __init__(
        self,
        source_vocabulary_size,
        target_vocabulary_size=None,
        source_pad_id=0,
        target_pad_id: int = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(source_vocabulary_size=source_vocabulary_size)
        self.source_vocabulary_size = source_vocabulary_size
        check_optional_sizes(target_vocabulary_size=target_vocabulary_size)
        self.target_vocabulary_size = target_vocabulary_size or source_vocabulary_size
        self.source_pad_id = source_pad_id
        self.target_pad_id = source_pad_id if target_pad_id is None else target_pad_id
        self.masked = Masked(name="masked")

    def require_joint_vocabulary(self, argument):
        """Raises a ValueError that names the argument unless both sides have as many ids."""
        sizes = {
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
        }
        require(len({*sizes.values()}) == 1, f"{argument} needs one joint vocabulary", **sizes)

    def embedding(self, size, width, name, initializer=None):
        """An embedding, from N(0, 1 / width) by default, that may be an output."""
        normal = keras.initializers.RandomNormal(stddev=width**-0.5)  # a new one: each draws the same numbers
        layer = keras.layers.ReversibleEmbedding(
            size,
            width,
            embeddings_initializer=initializer or normal,
            reverse_dtype=self.compute_dtype,
            dtype=self.dtype_policy,
            name=name,
        )
        layer.supports_masking = True  # a masked readout is no mistake: `call` sets the mask of the logits
        return layer

    def tied_logits(self, readout):
        """Logits by the target embedding, with `output_bias` if the model has one."""
        # A quantized embedding has another dtype than the model (Keras 3.15).
        logits = ops.cast(self.target_embedding(readout, reverse=True), self.compute_dtype)
        return logits if self.output_bias is None else logits + ops.cast(self.output_bias, logits.dtype)

    def memory_mask(self, source):
        """Bool `(B, S)`, `True` where the source holds a word."""
        return ops.not_equal(source, self.source_pad_id)

    def target_mask(self, target_in):
        """Bool `(B, T)`, `True` where `target_in` holds a word or starts; some models start with padding."""
        mask = ops.not_equal(target_in, self.target_pad_id)
        first = ops.any(mask, axis=1, keepdims=True)
        return ops.concatenate([first, mask[:, 1:]], axis=1)

    def encode(self, source, training=None):
        """What the decoder reads: a dict of tensors `(B, ...)` with `"memory_mask"`, bool `(B, S)`; a decoder
        that attends reads `"memory"`, `(B, S, D)`.
        """
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies encode.")

    def initial_state(self, memory, beam_width=1, length=None):
        """The state before the first step, with room for `length` positions; `None`: for one."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies initial_state.")

    def step(self, tokens, state):
        """One position: int `(N,)` tokens to `(N, V)` logits and the next state."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies step.")

    def select_rows(self, state, rows):
        """The state whose row n is row `rows[n]`, int `(N,)`, of the given one, of the same sentence."""
        fixed = (*self.of_sentences, "position")
        return {key: part if key in fixed else take(part, rows) for key, part in state.items()}

    def select_sentences(self, state, sentences, beam_width=1):
        """The state of some of the sentences, int `(B',)`, each with its `beam_width` rows."""
        sentences = ops.cast(sentences, "int32")
        rows = ops.arange(beam_width, dtype="int32") + sentences[:, None] * beam_width
        rows = ops.reshape(rows, (-1,))
        places = {key: sentences if key in self.of_sentences else rows for key in state}
        return {key: part if key == "position" else take(part, places[key]) for key, part in state.items()}

    def lengthen(self, state, extra):
        """The state with room for `extra` more positions, an integer or a scalar tensor of at least 0."""
        return state

    def free_axes(self, state):
        """For each tensor of a state, a tuple of the axes whose sizes vary during a search, nested alike."""
        return {
            key: keras.tree.map_structure(lambda _, free=() if key == "position" else (0,): free, part)
            for key, part in state.items()
        }

    def decode(self, memory, target_in, training=None):
        """Teacher forcing on an encoded source: `(logits, attention_weights)` of `target_in`, int `(B, T)`.

        The shapes are `(B, T, V)` and `(B, T, S)`; the weights are `None` if the model does not attend.
        """
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies decode.")

    def call(self, inputs, return_attention_weights=False, training=None):
        source, target_in = inputs
        self._check_attends(return_attention_weights)
        shapes = {"source": tuple(source.shape), "target_in": tuple(target_in.shape)}
        fits = shapes_fit(*(shape[:1] for shape in shapes.values()))
        require_shapes(fits, "source and target_in must have one batch size", **shapes)
        memory = self.encode(source, training=training)
        logits, weights = self.decode(memory, target_in, training=training)
        logits = self.masked(logits, mask=self.target_mask(target_in))
        return (logits, ops.cast(weights, "float32")) if return_attention_weights else logits

    def _check_attends(self, wanted):
        if wanted and not self.attends:
            raise ValueError(f"{type(self).__name__} does not attend: it has no attention weights to return")

    def attention_heads(self, inputs):
        """Attention weights of every decoder layer and head under teacher forcing, float32 `(B, L, H, T, S)`.

        L = H = 1 unless the model stacks attention with several heads. A model that does not attend raises a
        ValueError.
        """
        return self(inputs, return_attention_weights=True)[1][:, None, None]

    def build(self, input_shape=None):
        self.call((ops.zeros((1, 2), dtype="int32"), ops.zeros((1, 2), dtype="int32")))

    def compute_output_spec(self, inputs, return_attention_weights=False, training=None):
        self._check_attends(return_attention_weights)
        source, target_in = inputs
        logits = keras.KerasTensor((*target_in.shape, self.target_vocabulary_size), self.compute_dtype)
        weights = keras.KerasTensor((*target_in.shape, source.shape[1]), "float32")
        return (logits, weights) if return_attention_weights else logits

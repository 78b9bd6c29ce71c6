"""The contract of a translation model: four methods, and everything else in the project uses nothing else."""

import keras
from keras import ops

from keraszoo.models.presets import Presets


class TranslationModel(Presets, keras.Model):
    """Base of the translation models.

        memory = model.encode(source)                           # what the decoder reads, a dict
        state = model.initial_state(memory, beam_width, length)
        logits, state = model.step(tokens, state)               # one position of every row
        logits = model((source, target_in))                     # teacher forcing: all positions

    Stepping and teacher forcing give the same logits. The rows of a state are hypotheses: `beam_width` of
    them stand side by side for each sentence, so that a state of B sentences has N = B * beam_width rows. A
    state is a dict:

    * `"memory"`, of a sentence: what the decoder reads, tensors `(B, ...)`, shared by the rows of a sentence;
    * `"cache"`, of a sentence, optional: tensors `(B, H, L, beam_width * d)` for L positions, with
      `"history"` `(N, L)`: which row of the sentence wrote each position of this row, -1 where none did;
    * `"position"`, of the search: scalar int32, how many positions have been stepped;
    * `"attention_weights"`, of a row: `(N, S)`, where the last step looked; a model that attends to nothing
      has none and says so: `attends` is `False`;
    * any other key, of a row: tensors `(N, ...)`.

    `keraszoo.search.state` knows how to pick rows or sentences out of a state and how to lengthen its cache.
    A search that gives rows new parents picks the tensors of rows alone: memory and cache never move.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: number of target ids.
        source_pad_id: id of padding in the source; masked everywhere.

    Attributes:
        attends: whether states have attention weights.
        presets: dict of named sizes.
    """

    attends = True

    def __init__(self, source_vocabulary_size, target_vocabulary_size, source_pad_id=0, **kwargs):
        super().__init__(**kwargs)
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.source_pad_id = source_pad_id

    def memory_mask(self, source):
        """Bool `(B, S)`, `True` where the source holds a word."""
        return ops.not_equal(source, self.source_pad_id)

    def encode(self, source, training=None):
        """What the decoder reads: a dict of tensors `(B, ...)`; `"memory_mask"` is `(B, S)`, `"memory"` is
        `(B, S, D)` where the decoder attends to it, else what it is given of the source.
        """
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies encode.")

    def initial_state(self, memory, beam_width=1, length=None):
        """The state before the first step, with room for `length` positions where the model keeps a cache."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies initial_state.")

    def step(self, tokens, state):
        """One position: int `(N,)` tokens to `(N, V)` logits and the next state."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies step.")

    def build(self, input_shape=None):
        """Makes all weights; the sizes are known without data."""
        self.call((ops.zeros((1, 2), dtype="int32"), ops.zeros((1, 2), dtype="int32")))

    def compute_output_shape(self, input_shape):
        return (*input_shape[1], self.target_vocabulary_size)

    def get_config(self):
        own = {
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            "source_pad_id": self.source_pad_id,
        }
        return {**super().get_config(), **own}

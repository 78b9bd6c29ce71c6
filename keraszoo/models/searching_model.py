"""What the models share whose decoder looks at the source before each step."""

from keras import ops

from keraszoo.models.recurrent_model import RecurrentModel, attended, attending_state


class SearchingModel(RecurrentModel):
    """Base of RNNsearch and its simplified form.

    A subclass makes an `AttentionDecoder`, its `decoder`, and writes `encode`, whose memory has the decoder's
    first state as `"first"` `(B, U)`, and `read`.
    """

    def read(self, queries, states, embedded, contexts, training=None):
        """Logits `(..., V)` from what a step has: the state before it and after it, its word, its context."""
        raise TypeError(f"{type(self).__name__} is abstract: a model supplies read.")

    def decode(self, memory, target_in, training=None):
        embedded = self.embed(self.target_embedding, target_in, training)  # (B, T, E)
        first = memory["first"]
        outputs, weights = self.decoder(
            embedded, memory["memory"], first, memory_mask=memory["memory_mask"], training=training
        )
        # In a graph the width of the outputs is unknown, so `ops.split` fails.
        units = self.decoder.units
        states, contexts = outputs[..., :units], outputs[..., units:]  # (B, T, U), (B, T, D)
        queries = ops.concatenate([first[:, None], states[:, :-1]], axis=1)
        return self.read(queries, states, embedded, contexts, training), weights

    def initial_state(self, memory, beam_width=1, length=None):
        first = ops.repeat(memory["first"], beam_width, axis=0)  # (N, U)
        prepared = self.decoder.prepare(memory["memory"])
        return attending_state(memory, prepared, self.decoder.initial_state(first))

    def step(self, tokens, state):
        memory, before = state["memory"], state["recurrent"]
        embedded = self.embed(self.target_embedding, tokens)  # (N, E)
        outputs, weights, after = self.decoder.step(
            embedded, before, (memory["keys"], memory["values"]), state["position"], memory["memory_mask"]
        )
        context = outputs[:, self.decoder.units :]
        return self.read(before[0], after[0], embedded, context), attended(state, after, weights)

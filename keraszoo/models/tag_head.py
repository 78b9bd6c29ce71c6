"""From the states of words to scores of tags, and from scores to tags: the last part of a tagger."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.configured_layer import ConfiguredLayer
from keraszoo.layers.crf import CRF, as_lists, permit
from keraszoo.layers.linear_chain import best_path, with_outside
from keraszoo.layers.masking import at_least_float32

LEAST = 1e-9  # a probability whose logarithm is finite


@keras.saving.register_keras_serializable(package="keraszoo")
class TagHead(ConfiguredLayer):
    """Scores of tags at each word, which a softmax or a `CRF` turns into probabilities and tags.

        e_j = W h_j + b                                             `scores`
        p_j = softmax(e_j), or p(y | x) ~ exp(s(x, y))              `chain`, with the emissions e

    With `allowed` the decoded tags always obey the scheme. A head without a CRF then decodes by Viterbi with
    transitions of 0. Scores are computed in float32 at least.

    Args:
        num_tags: K; padding is no tag.
        crf: put a `CRF` on the scores.
        allowed, constrain: as for `CRF`; without a CRF they hold for decoding.

    Call arguments:
        inputs: `(B, T, D)`.
        mask: bool `(B, T)`, `True` = a word.

    Returns:
        `(B, T, K)`, logits or emissions, with the mask.

    Example:

    >>> head = TagHead(num_tags=3, crf=True)
    >>> scores = head(ops.ones((1, 2, 4)))
    >>> tuple(head.decode(scores).shape), tuple(head.probabilities(scores).shape)
    ((1, 2), (1, 2, 3))
    """

    def __init__(self, num_tags, crf=False, allowed=None, constrain="decode", **kwargs):
        super().__init__(**{"autocast": False, **kwargs})
        check_sizes(num_tags=num_tags)
        self.supports_masking = True
        self.num_tags, self.crf, self.constrain = int(num_tags), crf, constrain
        full = at_least_float32(self.compute_dtype)
        self.scores = keras.layers.Dense(self.num_tags, dtype=full, name="scores")
        self.chain = None
        if crf or allowed is not None:
            # With frozen transitions of zero, a CRF is a softmax at every word that obeys the scheme.
            self.chain = CRF(num_tags, allowed, constrain, trainable=crf, dtype=full, name="crf")

    @property
    def allowed(self):
        """What the scheme permits, as lists, or `None`."""
        return None if self.chain is None else as_lists(self.chain.allowed)

    def build(self, inputs_shape):
        self.scores.build(inputs_shape)

    def call(self, inputs, mask=None):
        return self.scores(inputs)

    def decode(self, scores, mask=None):
        """The tags of sentences: int32 `(B, T)`, 0 at padding."""
        if self.chain is not None:
            return self.chain.decode(scores, mask)[0]
        tags = ops.cast(ops.top_k(scores, 1)[1][..., 0], "int32")
        return tags if mask is None else ops.where(mask, tags, 0)

    def probabilities(self, scores, mask=None):
        """The softmax, or the marginals of the CRF: `(B, T, K)`, 0 at padding."""
        if self.crf:
            return self.chain.marginals(scores, mask)
        probabilities = ops.softmax(scores)
        return probabilities if mask is None else ops.where(mask[..., None], probabilities, 0.0)

    def best_valid_tags(self, probabilities, mask):
        """The permitted tags with the highest product of probabilities `(B, T, K)`: int32 `(B, T)`."""
        scores, size = ops.log(ops.maximum(probabilities, LEAST)), self.num_tags
        moves = [ops.zeros(shape, dtype=scores.dtype) for shape in ((size, size), (size,), (size,))]
        scores, moves = with_outside(scores, mask, *moves)
        tags, _ = best_path(scores, permit(moves, None if self.constrain == "none" else self.allowed))
        return ops.where(mask, tags, 0)

    def loss(self, scores, tags, mask, weight):
        """The weighted sum of -log p over words, or with a CRF over sentences; padding has no weight.

        `mask` and `weight` are floats `(B, T)`. The weight of a sentence is the mean of its words'.
        """
        weight = weight * mask
        if self.crf:
            weight = ops.sum(weight, axis=1) / ops.maximum(ops.sum(mask, axis=1), 1)
            return -ops.sum(weight * self.chain.log_likelihood(scores, tags, mask))
        tags = ops.where(mask > 0, ops.cast(tags, "int32"), 0)
        return ops.sum(weight * ops.sparse_categorical_crossentropy(tags, scores, from_logits=True))

"""The conditional random field: the tags of a sentence are chosen together (Lafferty et al., 2001)."""

import keras
import numpy as np
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require, require_shapes, shapes_fit
from keraszoo.layers.linear_chain import (
    NEVER,
    best_path,
    is_word,
    log_partition,
    marginals,
    path_score,
    with_outside,
)
from keraszoo.layers.masking import at_least_float32

FORBIDDEN = -1e4  # finite: a gold path that breaks the scheme has a bad score, but it has one


@keras.saving.register_keras_serializable(package="keraszoo")
class CRF(keras.layers.Layer):
    """A distribution over all taggings of a sentence that scores pairs of neighbouring tags.

        s(x, y) = start[y_1] + sum_t e_t[y_t] + sum_{t>1} A[y_{t-1}, y_t] + end[y_T]
        p(y | x) = exp(s(x, y)) / Z(x),    Z(x) = sum_{y'} exp(s(x, y'))

    with e the `emissions`, a score for each tag at each word, A -> `transitions`, and `start` and `end`. All
    weights are zero at first: the CRF is then a softmax at every position.

    The output of the layer, the chain, holds all that s(x, y) needs. `CRFLoss` and `CRFAccuracy` read it, so
    the transitions train through stock `compile` and `fit`. `decode`, `marginals` and `log_likelihood` take
    emissions, `decode_chain` and others a chain. All but the likelihoods also work in a functional model.

    `allowed` says what a tag scheme permits, such as no `I-PER` after `O`. A forbidden move scores -10,000:
    no forbidden path comes out unless emissions differ by more, and a gold path that breaks the scheme has a
    finite score. With `constrain="decode"` training does not see the scheme: a corpus may break it.

    Padding at any place has no tag and changes nothing: the words before and after it are neighbours.
    Everything is computed in float32 at least. The likelihood can be differentiated once.

    Args:
        num_tags: K.
        allowed: `None`, or what the scheme permits: bool `(transitions (K, K), start (K,), end (K,))`, as
            `keraszoo.text.tag_schemes.allowed_transitions` makes it.
        constrain: where `allowed` holds: `"decode"`, `"both"` (also in training) or `"none"`.
        dtype: of weights and outputs.

    Call arguments:
        emissions: `(B, T, K)`.
        mask: bool `(B, T)`, `True` = a word. The methods for emissions take it, too.

    Returns:
        The chain, float32 `(B, T + K + 1, K + 1)`: a row of scores for each word, then the scores of all
        moves between tags. The last tag stands for "outside of the sentence".

    Raises:
        ValueError: if `num_tags`, `constrain`, or the shapes of `allowed`, emissions, mask, tags or a chain
            are wrong.

    Example: train through `fit`, then tag.

    >>> from keraszoo.layers import CRFAccuracy, CRFLoss
    >>> words = np.array([[1, 2, 1, 2], [1, 2, 1, 0]])  # 0 is padding
    >>> inputs = keras.Input((None,), dtype="int32")
    >>> x = keras.layers.Embedding(3, 4, mask_zero=True)(inputs)
    >>> crf = CRF(num_tags=2)
    >>> chain = crf(keras.layers.Dense(2)(x))
    >>> model = keras.Model(inputs, chain)
    >>> model.compile("adam", loss=CRFLoss(), metrics=[CRFAccuracy()])
    >>> history = model.fit(words, np.array([[0, 1, 0, 1], [0, 1, 0, 0]]), verbose=0)
    >>> tags, score = keras.Model(inputs, crf.decode_chain(chain)).predict(words, verbose=0)
    >>> tags.shape, score.shape
    ((2, 4), (2,))

    Reference: Lafferty, McCallum, Pereira, 2001, https://repository.upenn.edu/handle/20.500.14332/6188; on
    top of a recurrent net: Huang, Xu, Yu, 2015, https://arxiv.org/abs/1508.01991.
    """

    def __init__(self, num_tags, allowed=None, constrain="decode", dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **{"autocast": False, **kwargs})
        check_sizes(num_tags=num_tags)
        check_choices(("decode", "both", "none"), constrain=constrain)
        self.supports_masking = True
        self.num_tags = size = int(num_tags)
        self.allowed = None if allowed is None else check_allowed(allowed, size)
        self.constrain = constrain

        def weight(name, *shape):
            return self.add_weight(name=name, shape=shape, initializer="zeros", autocast=False)

        self.transitions = weight("transitions", size, size)
        self.start = weight("start", size)
        self.end = weight("end", size)
        self.built = True

    def call(self, emissions, mask=None):
        emissions = ops.convert_to_tensor(emissions)
        shape, size = tuple(emissions.shape), self.num_tags
        require_shapes(shape[2:] == (size,), f"emissions must be (B, T, {size})", emissions=shape)
        emissions = ops.cast(emissions, at_least_float32(emissions.dtype))
        emissions = ops.maximum(emissions, NEVER)  # -inf - -inf would be NaN
        mask = ops.ones_like(emissions[..., 0], dtype="bool") if mask is None else ops.cast(mask, "bool")
        fits = shapes_fit(tuple(mask.shape), shape[:2])
        require_shapes(fits, "mask must be (B, T)", mask=tuple(mask.shape), emissions=shape)
        weights = self.transitions, self.start, self.end
        weights = [ops.cast(ops.copy(weight), emissions.dtype) for weight in weights]
        scores, moves = with_outside(emissions, mask, *weights)
        moves = permit(moves, self.allowed if self.constrain == "both" else None)
        moves = ops.broadcast_to(moves, (ops.shape(scores)[0], *moves.shape))
        return ops.concatenate([scores, moves], axis=1)

    def compute_mask(self, emissions, mask=None):
        """No mask: the chain holds it, and Keras would apply it to the loss of whole sentences."""
        return None

    def decode(self, emissions, mask=None):
        """The best tagging of each sentence, `(tags, score)`: int32 `(B, T)`, 0 at padding, and s, `(B,)`."""
        return self.decode_chain(self(emissions, mask=mask))

    def decode_chain(self, chain):
        """As `decode`, of what the layer returned."""
        return self._read(chain, "tags")

    def marginals(self, emissions, mask=None):
        """How probable each tag is at each word, `(B, T, K)`: the sum is 1 at a word and 0 at padding."""
        return self.chain_marginals(self(emissions, mask=mask))

    def chain_marginals(self, chain):
        """As `marginals`, of what the layer returned."""
        return self._read(chain, "marginals")

    def log_likelihood(self, emissions, tags, mask=None):
        """How probable given taggings are: log p(y | x) in nats, `(B,)`.

        `tags` are int `(B, T)`; at padding they may be anything. The result is 0 for a sentence without
        words, and NaN if a tag of a word is outside [0, K).
        """
        return self.chain_log_likelihood(self(emissions, mask=mask), tags)

    def chain_log_likelihood(self, chain, tags):
        """As `log_likelihood`, of what the layer returned."""
        return log_likelihood(self._checked(chain), tags)

    def _read(self, chain, wanted):
        reader = ChainReader(wanted, None if self.constrain == "none" else as_lists(self.allowed))
        chain = self._checked(chain)
        return reader(chain) if isinstance(chain, keras.KerasTensor) else reader.call(chain)

    def _checked(self, chain):
        size, shape = self.num_tags + 1, tuple(chain.shape)
        fits = len(shape) == 3 and shape[2] == size and (shape[1] is None or shape[1] >= size)
        require_shapes(fits, f"a chain must be (B, T + {size}, {size})", chain=shape)
        return chain

    def get_config(self):
        own = {"num_tags": self.num_tags, "allowed": as_lists(self.allowed), "constrain": self.constrain}
        return {**super().get_config(), **own}


@keras.saving.register_keras_serializable(package="keraszoo")
class ChainReader(keras.layers.Layer):
    """Reads `wanted`, `"tags"` or `"marginals"`, from a chain; `CRF` adds it to a functional model."""

    def __init__(self, wanted, allowed=None, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})
        self.wanted = wanted
        self.allowed = allowed
        self.built = True

    def call(self, chain):
        scores, moves = split_chain(ops.convert_to_tensor(chain))
        moves = permit(moves, self.allowed)
        if self.wanted == "marginals":
            return marginals(scores, moves)[..., :-1]
        tags, score = best_path(scores, moves)
        return ops.where(is_word(scores), tags, 0), score

    def compute_output_spec(self, chain):  # JAX cannot trace the search without a known length
        rows, length, size = chain.shape
        length = None if length is None else length - size
        if self.wanted == "marginals":
            return keras.KerasTensor((rows, length, size - 1), chain.dtype)
        return keras.KerasTensor((rows, length), "int32"), keras.KerasTensor((rows,), chain.dtype)


def split_chain(chain):
    """The scores and moves of a chain. All sentences have the same moves: those of the first are taken."""
    size = chain.shape[-1]
    moves = ops.sum(chain[:1, -size:], axis=0)
    return chain[:, :-size], ops.reshape(moves, (size, size))  # TensorFlow forgets the size


def log_likelihood(chain, tags):
    """Log p(y | x) of tags, int `(B, T)`, by a chain: `(B,)`."""
    scores, moves = split_chain(chain)
    tags, words, outside = check_tags(tags, scores), is_word(scores), moves.shape[0] - 1
    wrong = ops.any(words & ((tags < 0) | (tags >= outside)), axis=1)
    result = path_score(scores, moves, ops.where(words, tags, outside)) - log_partition(scores, moves)
    return ops.where(wrong, float("nan"), result)


def check_tags(tags, scores):
    """Tags as int32, or an error unless they are one for each word of the scores `(B, T, K + 1)`."""
    tags = ops.convert_to_tensor(tags)
    fits = shapes_fit(tuple(tags.shape), tuple(scores.shape[:2]))
    wanted = f"tags must be (B, T) with a tag for each of {scores.shape[1]} words"
    require_shapes(fits, wanted, tags=tuple(tags.shape), scores=tuple(scores.shape))
    return ops.cast(tags, "int32")


def permit(moves, allowed):
    """Moves `(K + 1, K + 1)` in which the forbidden ones score -10,000."""
    if allowed is None:
        return moves
    between, start, end = map(np.asarray, allowed)
    permitted = np.block([[between, end[:, None]], [start, np.True_]])
    return ops.where(permitted, moves, ops.cast(FORBIDDEN, moves.dtype))


def as_lists(allowed):
    """`allowed` for a configuration."""
    return None if allowed is None else [np.asarray(part).tolist() for part in allowed]


def check_allowed(allowed, num_tags):
    """`(transitions, start, end)` as bool arrays, or an error that shows their shapes."""
    parts = tuple(np.asarray(part, "bool") for part in allowed)
    shapes, wanted = [part.shape for part in parts], [(num_tags, num_tags), (num_tags,), (num_tags,)]
    require(shapes == wanted, f"allowed must be (transitions, start, end) of shapes {wanted}", shapes=shapes)
    return parts

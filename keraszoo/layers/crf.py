"""The conditional random field: the tags of a sentence chosen together (Lafferty et al., 2001)."""

import keras
import numpy as np
from keras import ops

from keraszoo.layers.linear_chain import best_path, log_partition, marginals, path_score, with_outside
from keraszoo.layers.masking import at_least_float32

FORBIDDEN = -1e4  # finite: a gold path that is forbidden has a bad score, and not none


@keras.saving.register_keras_serializable(package="keraszoo")
class CRF(keras.layers.Layer):
    """A distribution over all taggings of a sentence, in which neighbouring tags know of each other.

        s(x, y) = start[y_1] + sum_t e_t[y_t] + sum_{t>1} A[y_{t-1}, y_t] + end[y_T]
        p(y | x) = exp(s(x, y)) / Z(x),    Z(x) = sum_{y'} exp(s(x, y'))

    with e the `emissions`, a score for each tag at each word, A -> `transitions`, and `start` and `end`.
    `call` passes the emissions on, in float32, and nothing else; training maximises `log_likelihood`, and
    `decode` and `marginals` read the distribution. All weights begin at zero, where a CRF is a softmax at
    every position.

    `allowed` says what a tag scheme permits (that `I-PER` never follows `O`). A forbidden move scores -10,000
    whatever the weights say, so that no forbidden path comes out, and a gold path that breaks the scheme has
    a finite score. With `constrain="decode"` this holds for `decode` and `marginals`: the distribution over
    the permitted paths alone. Training is then blind to the scheme, and so a corpus may break it.

    Padding stands at the end of a sentence, is no tag and changes nothing. Everything is computed in float32
    (in float64 if the emissions are) also under mixed precision. `log_likelihood` has a gradient of its own,
    the marginals, and can be differentiated once.

    Shapes: B batch, T words, K `num_tags`.

    Args:
        num_tags: K.
        allowed: `None`, or what the scheme permits: bool `(transitions (K, K), start (K,), end (K,))`, as
            `keraszoo.text.tag_schemes.allowed_transitions` makes it.
        constrain: where `allowed` holds: `"decode"`, `"both"` (also in training) or `"none"`.
        dtype: of weights and outputs.

    Call arguments:
        emissions: `(B, T, K)`.
        mask: bool `(B, T)`, `True` = a word; passed on.

    Returns:
        The emissions `(B, T, K)`, float32.

    Raises:
        ValueError: if `num_tags`, `constrain`, or the shapes of `allowed` or the emissions are wrong.

    Example: that a path begins with tag 1 is forbidden, and that tag 1 follows tag 0.

    >>> crf = CRF(num_tags=2, allowed=([[True, False], [True, True]], [True, False], [True, True]))
    >>> emissions = crf(np.array([[[0.0, 3.0], [0.0, 1.0]]]))
    >>> tags, score = crf.decode(emissions)
    >>> ops.convert_to_numpy(tags).tolist(), float(score[0])
    ([[0, 0]], 0.0)

    Reference: Lafferty, McCallum, Pereira: Conditional Random Fields, 2001,
    https://repository.upenn.edu/handle/20.500.14332/6188; on top of a recurrent net: Huang, Xu, Yu:
    Bidirectional LSTM-CRF Models for Sequence Tagging, 2015, https://arxiv.org/abs/1508.01991.
    """

    def __init__(self, num_tags, allowed=None, constrain="decode", dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        if not isinstance(num_tags, int) or num_tags < 1:
            raise ValueError(f"num_tags must be a positive integer. Received: num_tags={num_tags!r}")
        if constrain not in ("decode", "both", "none"):
            raise ValueError(
                f'constrain must be "decode", "both" or "none". Received: constrain={constrain!r}'
            )
        self.supports_masking = True
        self.num_tags = num_tags
        self.allowed = None if allowed is None else check_allowed(allowed, num_tags)
        self.constrain = constrain

        def weight(name, *shape):
            return self.add_weight(name=name, shape=shape, initializer="zeros", autocast=False)

        self.transitions = weight("transitions", num_tags, num_tags)
        self.start = weight("start", num_tags)
        self.end = weight("end", num_tags)
        self.built = True

    def call(self, emissions, mask=None):
        self._check(emissions)
        return emissions

    def log_likelihood(self, emissions, tags, mask=None):
        """How probable given taggings are: log p(y | x).

        Args:
            emissions: `(B, T, K)`.
            tags: int `(B, T)`; at padding they may be anything.
            mask: bool `(B, T)`, `True` = a word; `None`: all are.

        Returns:
            `(B,)`, in nats, at most 0; 0 for a sentence without words.
        """
        emissions, mask = self._check(emissions, mask)
        chain = self._chain(emissions, mask, self.constrain == "both")
        tags = ops.where(mask, ops.cast(tags, "int32"), self.num_tags)
        return path_score(*chain, tags) - log_partition(*chain)

    def decode(self, emissions, mask=None):
        """The best tagging of each sentence; see `best_path`.

        Args:
            emissions, mask: as for `log_likelihood`.

        Returns:
            `(tags, score)`: int32 `(B, T)`, 0 at padding, and s(x, y) of them, `(B,)`.
        """
        emissions, mask = self._check(emissions, mask)
        tags, score = best_path(*self._chain(emissions, mask, self.constrain != "none"))
        return ops.where(mask, tags, 0), score

    def marginals(self, emissions, mask=None):
        """How probable each tag is at each word, over all taggings.

        Args:
            emissions, mask: as for `log_likelihood`.

        Returns:
            `(B, T, K)`, in [0, 1], with sum 1 at a word and all zero at padding.
        """
        emissions, mask = self._check(emissions, mask)
        return marginals(*self._chain(emissions, mask, self.constrain != "none"))[..., :-1]

    def _check(self, emissions, mask=None):
        emissions = ops.convert_to_tensor(emissions)
        if len(emissions.shape) != 3 or emissions.shape[-1] != self.num_tags:
            raise ValueError(
                f"emissions must be (B, T, {self.num_tags}). Received: shape {tuple(emissions.shape)}"
            )
        emissions = ops.cast(emissions, at_least_float32(emissions.dtype))
        mask = ops.ones_like(emissions[..., 0], dtype="bool") if mask is None else ops.cast(mask, "bool")
        return emissions, mask

    def _chain(self, emissions, mask, constrained):
        weights = self.transitions, self.start, self.end
        weights = [ops.cast(ops.copy(weight), emissions.dtype) for weight in weights]
        if constrained and self.allowed is not None:
            pairs = zip(self.allowed, weights, strict=True)
            weights = [ops.where(permitted, weight, FORBIDDEN) for permitted, weight in pairs]
        return with_outside(emissions, mask, *weights)

    def compute_mask(self, emissions, mask=None):
        return mask

    def compute_output_shape(self, emissions_shape):
        return emissions_shape

    def get_config(self):
        allowed = None if self.allowed is None else [part.tolist() for part in self.allowed]
        own = {"num_tags": self.num_tags, "allowed": allowed, "constrain": self.constrain}
        return {**super().get_config(), **own}


def check_allowed(allowed, num_tags):
    """`(transitions, start, end)` as bool arrays, or an error that says which has the wrong shape."""
    names, shapes = ("transitions", "start", "end"), ((num_tags, num_tags), (num_tags,), (num_tags,))
    if len(allowed) != 3:
        raise ValueError(f"allowed must be (transitions, start, end). Received: {len(allowed)} parts")
    parts = tuple(np.asarray(part, "bool") for part in allowed)
    for name, shape, part in zip(names, shapes, parts, strict=True):
        if part.shape != shape:
            raise ValueError(f"allowed {name} must be {shape}. Received: shape {part.shape}")
    return parts

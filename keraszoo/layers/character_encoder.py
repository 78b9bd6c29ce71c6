"""A word as a vector made from its characters, by a convolution or a recurrent net (both 2016)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require
from keraszoo.layers.configured import Configured
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.linear import linear
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class CharacterEncoder(Configured, keras.layers.Layer):
    """Vectors of words from their spelling, also of words that were never seen.

        cnn     f = max(0, max_j W [c_{j-1} ; c_j ; c_{j+1}] + b)         (Ma and Hovy, 2016, section 2.1)
        lstm    f = [h->_J ; h<-_1]                                      (Lample et al., 2016, section 4.1)

    with c_j the embedding of the j-th of J characters, W -> `W` over a window of `window` characters with
    zeros beyond the ends of the word, and h the last states of an LSTM in each direction. Padding changes
    nothing, and the vector of a word without characters is zero.

    Departure from Ma and Hovy: the maximum is taken with 0.

    Shapes: B batch, T words, C characters, E `embedding_dim`, U `units`, F width of the output.

    Args:
        vocabulary_size: number of character ids; 0 is padding.
        embedding_dim: E.
        units: U: the filters of the convolution, or the units of each direction.
        kind: `"cnn"` or `"lstm"`.
        window: characters that a filter sees, an odd number below 100.
        dropout: share of the embeddings dropped in training.

    Call arguments:
        inputs: int `(B, T, C)`, each word's characters and then padding.

    Returns:
        `(B, T, F)`: F is U for a convolution, 2 U for an LSTM.

    Raises:
        ValueError: if `kind` is unknown, or `window` even or too large.

    Example:

    >>> import numpy as np
    >>> words = np.array([[[3, 4, 5], [6, 0, 0]]])
    >>> tuple(CharacterEncoder(9, units=7)(words).shape)
    (1, 2, 7)

    Reference: Ma, Hovy: End-to-end Sequence Labeling via Bi-directional LSTM-CNNs-CRF, 2016,
    https://arxiv.org/abs/1603.01354; Lample et al.: Neural Architectures for Named Entity Recognition, 2016,
    https://arxiv.org/abs/1603.01360.
    """

    def __init__(
        self, vocabulary_size, embedding_dim=30, units=30, kind="cnn", window=3, dropout=0.0, **kwargs
    ):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        check_choices(("cnn", "lstm"), kind=kind)
        fits = 0 < window < 100 and window % 2
        require(fits, "window must be odd, positive and below 100", window=window)
        check_sizes(vocabulary_size=vocabulary_size, embedding_dim=embedding_dim, units=units)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.vocabulary_size = vocabulary_size
        self.embedding_dim = embedding_dim
        self.units = units
        self.kind = kind
        self.window = window
        self.embedding_dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.directions = []
        if kind == "lstm":
            self.directions = [
                RecurrentStack(units, "lstm", backward=backward, dtype=self.dtype_policy, name=name)
                for name, backward in (("forward", False), ("backward", True))
            ]

    def build(self, inputs_shape):
        shape = self.vocabulary_size, self.embedding_dim
        bound = (3 / self.embedding_dim) ** 0.5  # of unit variance over the embedding
        initializer = keras.initializers.RandomUniform(-bound, bound)
        self.E = self.add_weight(name="E", shape=shape, initializer=initializer)
        for direction in self.directions:
            direction.build((None, None, self.embedding_dim))
        if self.kind == "cnn":
            shape = self.window * self.embedding_dim, self.units
            self.W = self.add_weight(name="W", shape=shape, initializer="glorot_uniform")
            self.b = self.add_weight(name="b", shape=(self.units,), initializer="zeros")

    def call(self, inputs, training=None):
        words, length = ops.shape(inputs)[:2], ops.shape(inputs)[2]
        ids = ops.reshape(ops.cast(inputs, "int32"), (words[0] * words[1], length))  # (N, C), N words
        x = ops.cast(ops.take(self.E, ids, axis=0), self.compute_dtype)  # (N, C, E)
        x = self.embedding_dropout(x, training=training)
        encode = self._convolve if self.kind == "cnn" else self._read
        return ops.reshape(encode(x, ids != 0), (*words, self.output_dim))

    def _convolve(self, x, mask):
        mask, side = mask[..., None], self.window // 2
        x = ops.pad(ops.where(mask, x, 0), [[0, 0], [side, side], [0, 0]])
        length = ops.shape(mask)[1]
        windows = ops.concatenate([x[:, i : i + length] for i in range(self.window)], axis=-1)
        filtered = linear(windows, self.W, self.b)  # (N, C, U)
        return ops.max(ops.where(mask, filtered, 0), axis=1, initial=0)

    def _read(self, x, mask):
        last = [direction(x, mask=mask)[1] for direction in self.directions]
        return ops.concatenate(last, axis=-1)  # (N, 2 U)

    @property
    def output_dim(self):
        """F, the width of the output."""
        return self.units if self.kind == "cnn" else 2 * self.units

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:2], self.output_dim)

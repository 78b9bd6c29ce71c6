"""A word as a vector made from its characters, by a convolution or a recurrent net (both 2016)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class CharacterEncoder(KernelOptions):
    """Vectors of words from their spelling, also of words that were never seen.

        cnn     f = max(0, max_j W [c_{j-1} ; c_j ; c_{j+1}] + b)         (Ma and Hovy, 2016, section 2.1)
        lstm    f = [h->_J ; h<-_1]                                      (Lample et al., 2016, section 4.1)

    with c_j the embedding (`E`) of the j-th of J characters, W and b -> `W` over a window of `window`
    characters with zeros beyond the ends of the word, and h the last states of an LSTM in each direction.
    Padding changes nothing, and the vector of a word without characters is zero.

    Departure from Ma and Hovy: the maximum is taken with 0.

    Args:
        vocabulary_size: number of character ids; 0 is padding.
        embedding_dim: width of the embeddings.
        units: U: the filters of the convolution, or the units of each direction.
        kind: `"cnn"` or `"lstm"`.
        window: characters that a filter sees, an odd number below 100.
        dropout: share of the embeddings dropped in training.
        kernel_initializer, bias_initializer and other options: as for `KernelOptions`, of `W`.

    Call arguments:
        inputs: int `(B, T, C)`, each word's characters and then padding.

    Returns:
        `(B, T, U)` for a convolution, `(B, T, 2 U)` for an LSTM.

    Raises:
        ValueError: if `kind` is unknown, `window` even or too large, or a size is not a positive integer.

    Example:

    >>> words = ops.array([[[3, 4, 5], [6, 0, 0]]])
    >>> tuple(CharacterEncoder(9, units=7)(words).shape)
    (1, 2, 7)

    Reference: Ma, Hovy, 2016, https://arxiv.org/abs/1603.01354; Lample et al., 2016,
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
        self.vocabulary_size, self.embedding_dim = int(vocabulary_size), int(embedding_dim)
        self.units, self.kind, self.window, self.dropout = int(units), kind, int(window), dropout
        self.output_dim = self.units if kind == "cnn" else 2 * self.units
        bound = (3 / embedding_dim) ** 0.5  # of unit variance over the embedding
        initializer = keras.initializers.RandomUniform(-bound, bound)
        options = {"dtype": self.policy_of("E"), "trainable": self.trainable}
        sizes = self.vocabulary_size, self.embedding_dim
        self.E = keras.layers.Embedding(*sizes, initializer, **options, name="E")
        self.embedding_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.directions = []
        if kind == "cnn":
            self.W = self.dense(self.units, "W", use_bias=True)
        else:
            self.directions = [
                RecurrentStack(self.units, "lstm", backward=backward, dtype=self.dtype_policy, name=name)
                for name, backward in (("forward", False), ("backward", True))
            ]
            for direction in self.directions:
                direction.trainable = self.trainable  # and so are its sublayers

    def build(self, inputs_shape=None):
        self.E.build()
        if self.kind == "cnn":
            self.W.build((None, None, self.window * self.E.output_dim))
        for direction in self.directions:
            direction.build((None, None, self.E.output_dim))

    def call(self, inputs, training=None):
        words, length = ops.shape(inputs)[:2], ops.shape(inputs)[2]
        ids = ops.reshape(ops.cast(inputs, "int32"), (words[0] * words[1], length))  # (N, C), N words
        x = self.embedding_dropout(self.E(ids), training=training)  # (N, C, E)
        encode = self._convolve if self.kind == "cnn" else self._read
        return ops.reshape(encode(x, ids != 0), (*words, self.output_dim))

    def _convolve(self, x, mask):
        mask, side, length = mask[..., None], self.window // 2, ops.shape(mask)[1]
        x = ops.pad(ops.where(mask, x, 0), [[0, 0], [side, side], [0, 0]])
        windows = ops.concatenate([x[:, i : i + length] for i in range(self.window)], axis=-1)
        return ops.max(ops.where(mask, self.W(windows), 0), axis=1, initial=0)  # (N, U)

    def _read(self, x, mask):
        last = [direction(x, mask=mask)[1] for direction in self.directions]
        return ops.concatenate(last, axis=-1)  # (N, 2 U)

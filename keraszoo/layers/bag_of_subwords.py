"""Vectors of words from the character n-grams that they contain (2018)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.kernel_options import KernelOptions

FACTOR = 8191  # of the polynomial hash
MOST_BUCKETS = 2**17  # its products fit int32


@keras.saving.register_keras_serializable(package="keraszoo")
class BagOfSubwords(KernelOptions):
    """Vectors of words as sums over their character n-grams, also of words that were never seen.

        v = b + |G|^{-1/2} sum_{g in G} E[hash(g)] W

    with G the n-grams of `<`, the word and `>` (E -> `E`, W and b -> `W`). Zhao et al. regress pretrained
    vectors of words on their n-grams, as `keraszoo.tagging.subword_vectors` does, so that a word without a
    vector gets one. More padding changes nothing; a word without characters is `<>`.

    Departures from the paper: |G|^{-1/2} in place of 1 / |G|; b; n-grams of 2 to 4 characters in place of 3
    to 6; their vectors have `rank` numbers, which W maps to `units`; and n-grams share vectors by a hash, as
    in fastText (Bojanowski et al., 2017).

    Args:
        vocabulary_size: number of character ids; 0 is padding.
        units: D.
        buckets: values of the hash, at most 131,072; a prime mixes best.
        rank: width of the vectors of n-grams; values above D are reduced to D.
        shortest, longest: characters of an n-gram, `<` and `>` included.
        kernel_initializer, bias_initializer and other options: as for `KernelOptions`, of `W`.

    Call arguments:
        inputs: int `(B, T, C)`, each word's characters and then padding.

    Returns:
        `(B, T, D)`.

    Raises:
        ValueError: if a size is not a positive integer, `buckets` too large or `shortest` above `longest`.

    Example:

    >>> words = ops.array([[[3, 4, 5], [6, 0, 0]]])
    >>> tuple(BagOfSubwords(9, units=7, buckets=101)(words).shape)
    (1, 2, 7)

    Reference: Zhao, Mudgal, Liang, 2018, https://arxiv.org/abs/1809.04259.
    """

    def __init__(self, vocabulary_size, units, buckets=32749, rank=32, shortest=2, longest=4, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})  # half precision would round ids
        sizes = {"vocabulary_size": vocabulary_size, "units": units, "buckets": buckets, "rank": rank}
        check_sizes(**sizes, shortest=shortest, longest=longest)
        require(buckets <= MOST_BUCKETS, f"buckets must be at most {MOST_BUCKETS}", buckets=buckets)
        require(shortest <= longest, "longest must not be below shortest", shortest=shortest, longest=longest)
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.vocabulary_size, self.units, self.buckets = int(vocabulary_size), int(units), int(buckets)
        self.rank = int(min(rank, units))
        self.shortest, self.longest = int(shortest), int(longest)
        options = {"dtype": self.policy_of("E"), "trainable": self.trainable}
        self.E = keras.layers.Embedding(self.buckets, self.rank, **options, name="E")
        self.W = self.dense(self.units, "W", use_bias=True)

    def build(self, inputs_shape=None):
        self.E.build()
        self.W.build((None, self.rank))

    def n_grams(self, inputs):
        """The buckets of the n-grams of words `(N, C)`: for each length ids and mask, `(N, C + 2)`."""
        inputs = ops.cast(inputs, "int32")
        size = ops.shape(inputs)[1] + 2
        places = ops.arange(size, dtype="int32")
        count = ops.sum(ops.cast(inputs != 0, "int32"), axis=1, keepdims=True)  # (N, 1)
        spelt = ops.pad(inputs, [[0, 0], [1, 1]])
        spelt = ops.where(places == 0, self.vocabulary_size, spelt)  # <
        spelt = ops.where(places == count + 1, self.vocabulary_size + 1, spelt)  # >
        spelt = ops.pad(spelt, [[0, 0], [0, self.longest]])
        found, hashed = [], ops.zeros_like(spelt[:, :size])
        for length in range(1, self.longest + 1):
            hashed = (hashed * FACTOR + spelt[:, length - 1 : length - 1 + size] + 1) % self.buckets
            if length >= self.shortest:  # a hash that starts with the length: this one, shifted
                shifted = hashed + length * FACTOR**length % self.buckets
                ids = ops.where(shifted >= self.buckets, shifted - self.buckets, shifted)
                found.append((ids, places + length <= count + 2))
        return found

    def call(self, inputs):
        words, length = ops.shape(inputs)[:2], ops.shape(inputs)[2]
        total, count = 0.0, 0.0
        for ids, mask in self.n_grams(ops.reshape(inputs, (words[0] * words[1], length))):
            mask = ops.cast(mask, self.compute_dtype)[..., None]
            vectors = ops.cast(self.E(ids), self.compute_dtype)  # int8 gives float32 (Keras 3.15)
            total = total + ops.sum(vectors * mask, axis=1)  # (N, R)
            count = count + ops.sum(mask, axis=1)
        return ops.reshape(self.W(total * ops.rsqrt(ops.maximum(count, 1))), (*words, self.units))

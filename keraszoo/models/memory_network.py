"""End-to-end memory networks (Sukhbaatar, Szlam, Weston and Fergus, 2015)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_choices, check_sizes, require
from keraszoo.layers.memory_hop import MemoryHop
from keraszoo.layers.sentence_encoder import SentenceEncoder
from keraszoo.models.configured_model import ConfiguredModel

MOST_HOPS = 100


@keras.saving.register_keras_serializable(package="keraszoo")
class MemoryNetwork(ConfiguredModel):
    """Answers a question with one word after several hops of attention over a memory of sentences.

        u_1 = B q                                                    the question
        m_i = A_k x_i + T_A,k(i)     c_i = C_k x_i + T_C,k(i)        the memory, as hop k = 1..K sees it
        p_i = Softmax(u_k^T m_i)     u_{k+1} = u_k + sum_i p_i c_i                           (1), (2), (4)
        p(a) = Softmax(W u_{K+1})                                                            (3)

    A, B and C are `SentenceEncoder`s, and T(i) is an embedding of how many sentences ago x_i was said, 0 for
    the last (temporal encoding). Weights are shared in one of two ways (section 2.2):

    * `"adjacent"`: the values of a hop are the keys of the next one, A_{k+1} = C_k; B = A_1 and W^T = C_K.
      There are K + 1 encoders, `encoder_0` to `encoder_K`.
    * `"layer_wise"`: all hops share A and C, as in a recurrent network, and u is mapped by H:
      u_{k+1} = H u_k + o_k. `encoder_0` is A, `encoder_1` C, `question_encoder` B, `answers` W.

    Random noise: in training an empty memory follows every tenth sentence on average, which shifts the times
    of those before it. Linear start: while `linear` is 1, hops leave out the softmax. Empty places of the
    memory are vectors of zero and take part in the softmax, as in the authors' code. Padding changes nothing.

    Args:
        vocabulary_size: V; words of stories, questions and answers.
        width: d, of all vectors.
        hops: K, at most 100.
        tying: `"adjacent"` or `"layer_wise"`.
        encoding: `"position"` or `"bag"`; see `SentenceEncoder`.
        memory_size: M, how many sentences the memory holds: the last ones of a longer story.
        noise: share of empty memories in training, in [0, 1).
        pad_id: the null word.

    Call arguments:
        inputs: `(story, question)`: int `(B, S, J)`, the sentences in the order they were said, and int
            `(B, J')`. Padding may be anywhere.

    Returns:
        Logits `(B, V)`.

    Raises:
        ValueError: if `tying` is unknown, or a number is out of range.

    Example:

    >>> model = MemoryNetwork(vocabulary_size=9, width=4)
    >>> story, question = ops.array([[[1, 2, 3], [4, 2, 5]]]), ops.array([[6, 7, 1]])
    >>> tuple(model((story, question)).shape)
    (1, 9)
    >>> logits, attention_weights = model.read(story, question)
    >>> tuple(attention_weights.shape)  # three hops over two sentences
    (1, 3, 2)

    Reference: Sukhbaatar, Szlam, Weston, Fergus, 2015, https://arxiv.org/abs/1503.08895.
    """

    attends = True

    def __init__(
        self,
        vocabulary_size,
        width=20,
        hops=3,
        tying="adjacent",
        encoding="position",
        memory_size=50,
        noise=0.1,
        pad_id=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(width=width, hops=hops, memory_size=memory_size)
        require(hops <= MOST_HOPS, f"hops must be at most {MOST_HOPS}", hops=hops)
        check_choices(("adjacent", "layer_wise"), tying=tying)
        require(0 <= noise < 1, "noise must be in [0, 1)", noise=noise)
        self.vocabulary_size = vocabulary_size
        self.hops = hops
        self.tying = tying
        self.memory_size = memory_size
        self.noise = noise
        self.pad_id = pad_id
        dtype = self.dtype_policy
        adjacent = tying == "adjacent"

        def encoder(name):
            return SentenceEncoder(vocabulary_size, width, encoding, pad_id, dtype=dtype, name=name)

        def normal():  # a new one for each weight: an initializer draws the same numbers every time
            return keras.initializers.RandomNormal(stddev=0.1)

        count = hops + 1 if adjacent else 2
        self.encoders = [encoder(f"encoder_{i}") for i in range(count)]
        self.times = [
            keras.layers.Embedding(memory_size, width, normal(), dtype=dtype, name=f"times_{i}")
            for i in range(count)
        ]
        self.hop = MemoryHop(use_map=not adjacent, dtype=dtype, name="hop")
        self.question_encoder = self.encoders[0] if adjacent else encoder("question_encoder")
        self.answers = None
        if not adjacent:
            self.answers = keras.layers.Dense(
                vocabulary_size, use_bias=False, kernel_initializer=normal(), dtype=dtype, name="answers"
            )
        self.seed_generator = keras.random.SeedGenerator()

    @property
    def linear(self):
        """The weight that is 1 while hops leave out the softmax; see `MemoryHop`."""
        return self.hop.linear

    def read(self, story, question, training=None):
        """Logits `(B, V)`, and the attention weights of each hop over the sentences, `(B, K, S)`.

        The weights of a hop sum to less than 1: those of empty places are left out.
        """
        story = ops.convert_to_tensor(story)
        times = self.times_of(story, training)  # (B, S)
        mask = ops.logical_and(times >= 0, times < self.memory_size)
        places = ops.clip(times, 0, self.memory_size - 1)
        memories = [
            encode(story) + ops.cast(time(places), self.compute_dtype)  # (B, S, d)
            for encode, time in zip(self.encoders, self.times, strict=True)
        ]
        memories = [ops.pad(x, [[0, 0], [0, self.memory_size], [0, 0]]) for x in memories]  # (B, S + M, d)
        empty = self.memory_size - ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)  # (B, 1)
        mask = ops.concatenate(
            [mask, ops.arange(self.memory_size, dtype="int32") < empty], axis=1
        )  # (B, S + M)
        query = self.question_encoder(question)[:, None]  # (B, 1, d)
        attention = []
        for k in range(self.hops):
            keys, values = memories[k : k + 2] if self.tying == "adjacent" else memories
            query, weights = self.hop(query, values, keys, value_mask=mask, training=training)
            attention.append(weights[:, :, : -self.memory_size])
        return self.score(query[:, 0]), ops.concatenate(attention, axis=1)

    def times_of(self, story, training=None):
        """How many memories ago each sentence was said, int `(B, S)`; -1 for padding."""
        said = ops.cast(ops.any(story != self.pad_id, axis=-1), "int32")
        steps = said
        if training and self.noise:
            draws = keras.random.uniform(ops.shape(said), seed=self.seed_generator)
            steps = said * (1 + ops.cast(draws < self.noise, "int32"))  # 2 if an empty memory comes after it
        since = ops.flip(ops.cumsum(ops.flip(steps, axis=1), axis=1), axis=1)
        return ops.where(said > 0, since - 1, -1)

    def score(self, hidden):
        """Logits of all words, `(B, d)` to `(B, V)`."""
        if self.answers is None:
            return self.encoders[-1](hidden, reverse=True)
        return self.answers(hidden)

    def call(self, inputs, training=None):
        logits, _ = self.read(*inputs, training=training)
        return logits

    def build(self, input_shape=None):
        self.call((ops.zeros((1, 1, 1), dtype="int32"), ops.zeros((1, 1), dtype="int32")))

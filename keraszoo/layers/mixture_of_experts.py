"""A sparsely gated mixture of experts (Shazeer et al., 2017)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes, require
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.masking import at_least_float32, masked_softmax
from keraszoo.layers.replicas import over_replicas, valued_once
from keraszoo.layers.rows import take

EPSILON = 1e-2  # added to the standard deviation of the noise


@keras.saving.register_keras_serializable(package="keraszoo")
class MixtureOfExperts(KernelOptions):
    """Many feed-forward networks, of which every word uses the few that a gate selects.

        H(x) = x W_g + N(0, 1) * (softplus(x W_noise) + 0.01)       noise in training alone          (eq. 4)
        G(x) = softmax of the k largest of H(x), 0 elsewhere                                        (eq. 3, 5)
        y = sum_i G(x)_i E_i(x),  E_i(x) = W_{2,i} max(0, W_{1,i} x + b_{1,i}) + b_{2,i}            (eq. 1)

    The gate would train the experts it already prefers. Two losses of the whole batch balance it:

        importance_i = sum_x G(x)_i                                                                (eq. 6)
        load_i = sum_x P(x, i),  P(x, i) = Phi(((x W_g)_i - kth_excluding(H(x), k, i)) / std_i)  (eq. 9, 10)
        L = importance_loss CV(importance)^2 + load_loss CV(load)^2                            (eq. 7, 11)

    CV is the standard deviation over the mean. P is the probability that a new draw of the noise of expert i
    alone selects it. With all experts selected, load_i counts the words.

    L is in `layer.losses` after a call with `training=True`, and Keras adds it to the loss of `fit`. Replicas
    sum importance and load before the CV. The parts of a batch (`accumulate` in a recipe) follow each other:
    each adds its sums to those of the parts before it, through which no gradient flows. So the CV of the last
    part is that of the batch.

    Words that the `mask` leaves out use no expert, count in no sum and give zeros. No word is dropped, even
    if an expert is full, so its output depends on no other word. On TensorFlow, all experts compute as many
    rows as the fullest has words; XLA and JAX need fixed shapes: there each expert computes all words.

    Args:
        num_experts: n.
        intermediate_dim: width of the hidden layer of an expert.
        experts_per_token: k, at most n.
        activation, dropout, seed: as for `FeedForward`.
        importance_loss, load_loss: factors of the two losses.
        output_dim: width of the outputs; `None`: that of the inputs.
        kwargs: as for `KernelOptions`, of the experts. The gate starts at zero, without a preference.

    Attributes:
        parts: how many calls in training make a batch; set by `keraszoo.training.loop.train`.

    Call arguments:
        inputs: `(..., D)`.
        mask: bool `(...)`, `True` = a word; filled in by Keras.

    Returns:
        `(..., output_dim)`.

    Raises:
        ValueError: if a size is not a positive integer, or k is larger than n.

    Example:

    >>> layer = MixtureOfExperts(num_experts=4, intermediate_dim=8)
    >>> tuple(layer(ops.ones((1, 3, 6)), training=True).shape), len(layer.losses)
    ((1, 3, 6), 1)

    Reference: Shazeer et al.: Outrageously Large Neural Networks, 2017, https://arxiv.org/abs/1701.06538.
    """

    def __init__(
        self,
        num_experts,
        intermediate_dim,
        experts_per_token=2,
        activation="relu",
        dropout=0.0,
        seed=None,
        importance_loss=0.1,
        load_loss=0.1,
        output_dim=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_experts=num_experts, experts_per_token=experts_per_token)
        check_sizes(intermediate_dim=intermediate_dim)
        wanted, k = "experts_per_token must be at most num_experts", experts_per_token
        require(k <= num_experts, wanted, experts_per_token=k, num_experts=num_experts)
        self.supports_masking = True
        self.num_experts = int(num_experts)
        self.intermediate_dim = int(intermediate_dim)
        self.experts_per_token = int(k)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.seed = seed
        self.importance_loss = importance_loss
        self.load_loss = load_loss
        self.output_dim = output_dim
        self.parts = 1
        self.hidden_dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)
        self.noise_seed = keras.random.SeedGenerator(seed)

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: width})
        self.W_g, self.W_noise = (self._gate(inputs_shape, name) for name in ("W_g", "W_noise"))
        once = {"initializer": "zeros", "trainable": False, "aggregation": "only_first_replica"}
        self.sums = self.add_weight(name="sums", shape=(2 * self.num_experts,), dtype="float32", **once)
        self.part = self.add_weight(name="part", shape=(), dtype="int32", **once)
        self.W_1 = self._experts(width, self.intermediate_dim, "W_1")
        self.W_2 = self._experts(self.intermediate_dim, self.output_dim or width, "W_2")

    def _gate(self, inputs_shape, name):
        """A map to scores, in full precision, which starts at zero."""
        policy = self.policy_of(name)
        dtype = policy if policy.quantization_mode else at_least_float32(self.variable_dtype)
        zeros = {"kernel_initializer": "zeros", "trainable": self.trainable}
        layer = keras.layers.Dense(self.num_experts, use_bias=False, **zeros, dtype=dtype, name=name)
        layer.build(inputs_shape)
        return layer

    def _experts(self, rows, columns, name):
        """A map of its own for each expert, `(n, C, rows)` to `(n, C, columns)`, which starts as `Dense`."""
        limit = (6 / (rows + columns)) ** 0.5  # Glorot's; Keras would take n for the size of a filter
        options = {"kernel_initializer": keras.initializers.RandomUniform(-limit, limit), **self.inherited()}
        options |= {"bias_axes": "eh", "dtype": self.policy_of(name), "name": name}
        layer = keras.layers.EinsumDense("ecd,edh->ech", (None, columns), **options)
        layer.build((self.num_experts, None, rows))
        return layer

    def gate(self, inputs, noise=None, mask=None):
        """Which experts rows `(N, D)` use.

        Args:
            noise: `(N, n)`, of a standard normal distribution; `None`: no noise.
            mask: bool `(N,)`.

        Returns:
            `(gates, experts, load)`: `(N, k)` in float32 and int `(N, k)`, sorted by the gates; and the load
            `(n,)`, which has a gradient only with noise.
        """
        k, n = self.experts_per_token, self.num_experts
        real = ops.ones_like(inputs[:, 0], dtype="bool") if mask is None else mask
        full = at_least_float32(self.compute_dtype)
        clean = scores = ops.cast(self.W_g(inputs), full)  # (N, n)
        if noise is not None:
            deviation = ops.softplus(ops.cast(self.W_noise(inputs), full)) + EPSILON
            scores = clean + noise * deviation
        best, experts = ops.top_k(scores, min(k + 1, n))
        real = ops.cast(real, full)[:, None]
        gates, experts = masked_softmax(best[:, :k]) * real, experts[:, :k]
        if noise is None or k == n:
            load = ops.sum(self._selected(experts, full) * real[..., None], axis=(0, 1))
        else:
            to_beat = ops.where(scores > best[:, k:], best[:, k:], best[:, k - 1 : k])  # (N, n)
            z = (clean - to_beat) / deviation
            load = ops.sum(0.5 * (1 + ops.erf(z / 2**0.5)) * real, axis=0)
        return gates, experts, load

    def call(self, inputs, mask=None, training=None):
        width, full = inputs.shape[-1], at_least_float32(self.compute_dtype)
        x = ops.reshape(inputs, (-1, width))  # (N, D)
        mask = None if mask is None else ops.reshape(ops.cast(mask, "bool"), (-1,))
        noise = None
        if training:
            shape = (ops.shape(x)[0], self.num_experts)
            noise = keras.random.normal(shape, dtype=full, seed=self.noise_seed)
        gates, experts, load = self.gate(x, noise, mask)
        if training:
            sums = ops.concatenate([ops.sum(self._spread(gates, experts), axis=0), load])
            sums = self._with_earlier_parts(over_replicas(sums))
            variation = cv_squared(ops.reshape(sums, (2, -1)))
            loss = self.importance_loss * variation[0] + self.load_loss * variation[1]
            self.add_loss(valued_once(ops.cast(loss, "float32")))  # as Keras' losses of targets
        y = self.mix(x, gates, experts, mask, training)
        return ops.reshape(y, (*ops.shape(inputs)[:-1], y.shape[-1]))

    def _with_earlier_parts(self, sums):
        """Adds the sums of the parts of this batch that came before."""
        if self.parts == 1:
            return sums
        sums, part = sums + ops.cast(self.sums, sums.dtype), self.part + 1
        last = ops.equal(part, self.parts)
        self.sums.assign(ops.where(last, 0.0, ops.stop_gradient(sums)))
        self.part.assign(ops.where(last, 0, part))
        return sums

    def _spread(self, gates, experts):
        """Gates of all experts, `(N, n)`."""
        return ops.sum(self._selected(experts, gates.dtype) * gates[..., None], axis=1)

    def _selected(self, experts, dtype):
        """One-hot vectors, `(N, k, n)`; tf2onnx converts `ops.one_hot` of integers to a graph that fails."""
        return ops.cast(ops.equal(experts[..., None], ops.arange(self.num_experts, dtype="int32")), dtype)

    def mix(self, x, gates, experts, mask=None, training=None):
        """The sum of the experts' outputs, weighted by the gates: `(N, D)` to `(N, output_dim)`."""
        if fixed_shapes():
            y = self.compute(ops.broadcast_to(x, (self.num_experts, *ops.shape(x))), training)  # (n, N, D')
            return ops.einsum("ne,end->nd", ops.cast(self._spread(gates, experts), y.dtype), y)
        n, count = self.num_experts, ops.shape(x)[0]
        used = ops.sum(self._selected(experts, "int32"), axis=1)  # (N, n)
        used = used if mask is None else used * ops.cast(mask, "int32")[:, None]
        x = ops.pad(x, ((0, 1), (0, 0)))  # an empty batch has a row to pick, too
        room = ops.maximum(ops.max(ops.sum(used, axis=0)), 1)  # C, of the fullest expert
        places = ops.take_along_axis(ops.cumsum(used, axis=0) - used, experts, axis=1)
        places = experts * room + places  # (N, k), rows of the experts' inputs
        if mask is not None:
            places = ops.where(mask[:, None], places, n * room)  # one row after the last
        rows = ops.repeat(ops.arange(count), self.experts_per_token)
        source = ops.scatter(ops.reshape(places, (-1, 1)), rows, (n * room + 1,))[:-1]
        y = self.compute(ops.reshape(take(x, source), (n, room, x.shape[-1])), training)
        y = ops.reshape(y, (-1, y.shape[-1]))
        y = take(y, ops.minimum(places, n * room - 1))  # (N, k, D')
        return ops.sum(y * ops.cast(gates, y.dtype)[..., None], axis=1)

    def compute(self, x, training=None):
        """What the experts make of their rows, `(n, C, D)` to `(n, C, output_dim)`."""
        return self.W_2(self.hidden_dropout(self.activation(self.W_1(x)), training=training))


def cv_squared(x):
    """The squared coefficient of variation over the last axis: variance over squared mean.

    >>> round(float(cv_squared(ops.array([1.0, 0.0, 0.0, 0.0]))), 4)
    3.0
    """
    return ops.var(x, axis=-1) / (ops.square(ops.mean(x, axis=-1)) + 1e-10)


def fixed_shapes():
    """Whether a size may not depend on values: everywhere but on TensorFlow without XLA."""
    if keras.backend.backend() != "tensorflow":
        return True
    import tensorflow as tf

    return tf.__internal__.get_enclosing_xla_context() is not None

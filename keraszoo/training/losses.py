"""The loss of a translation model."""

import functools

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keraszoo")
class TokenCrossentropy(keras.losses.Loss):
    """Cross entropy of each target token, with label smoothing on sparse targets.

        l = -sum_v q_v log p_v,  q_v = (1 - eps) [v = y] + eps / V,  p = softmax(logits)

    No one-hot vectors are built. On TensorFlow, XLA compiles the loss and its gradient into a few passes over
    the logits, the largest tensor of a step.

    Departure from Keras: the loss is the sum over tokens, not the mean over rows. `TokenBatches` gives each
    real token the weight 1 / (real tokens of the batch) and padding 0. So the loss of a batch is the mean
    over its real tokens, for any number of devices that share it.

    With `r_drop`, each sentence is in the batch twice, in rows 2k and 2k + 1 (`TokenBatches.copies`), so that
    dropout gives two predictions p and q of each token, and the loss of a token is

        l = (l(p) + l(q)) / 2 + r_drop / 4 (KL(p || q) + KL(q || p))

    That is half of Liang's equation 4, with its alpha, and as large as the loss without R-Drop. The copies
    are neighbours, so replicas and parts of a batch share it exactly.

    Args:
        label_smoothing: eps, in [0, 1).
        r_drop: alpha, the weight of the divergence of two copies; 0: rows are not copies.
        name: in the logs.
        dtype: dtype of the loss, float32 at least: Keras casts the targets to it, too, and 16 bits would
            round them. `"float64"` for such a model.

    Call arguments:
        y_true: int `(B, T)`; with weight 0 they may be anything.
        y_pred: logits `(B, T, V)`.
        sample_weight: `(B, T)`, or `(B,)`, the weight of each token of a sentence, or a number.

    Returns:
        A scalar, in nats; NaN if a target with a weight is outside [0, V).

    Raises:
        ValueError: if `label_smoothing` is not in [0, 1), `r_drop` is negative, the number of rows is odd
            with `r_drop`, or the shapes of targets and logits do not fit.

    Example:

    >>> import numpy as np
    >>> loss = TokenCrossentropy()(np.array([[1]]), np.zeros((1, 1, 4), "float32"), np.ones((1, 1)))
    >>> round(float(loss), 4)  # ln 4
    1.3863

    Reference: Szegedy et al.: Rethinking the Inception Architecture for Computer Vision, 2016, section 7,
    https://arxiv.org/abs/1512.00567; Liang et al.: R-Drop, 2021, https://arxiv.org/abs/2106.14448.
    """

    def __init__(self, label_smoothing=0.0, name="token_crossentropy", dtype="float32", r_drop=0.0):
        double = keras.dtype_policies.get(dtype or "float32").compute_dtype == "float64"
        super().__init__(name=name, reduction="sum", dtype="float64" if double else "float32")
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must be in [0, 1). Received: {label_smoothing!r}")
        if r_drop < 0:
            raise ValueError(f"r_drop must not be negative. Received: {r_drop!r}")
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true = ops.convert_to_tensor(y_true)
        targets, logits = tuple(y_true.shape), tuple(y_pred.shape)
        known = zip(targets, logits, strict=False)
        if len(targets) + 1 != len(logits) or any(None not in pair and pair[0] != pair[1] for pair in known):
            raise ValueError(
                "targets must be (B, T) and logits (B, T, V). "
                f"Received: targets.shape={targets}, logits.shape={logits}"
            )
        if sample_weight is not None:
            sample_weight = ops.convert_to_tensor(sample_weight)
            if 0 < len(sample_weight.shape) < len(targets):
                sample_weight = sample_weight[:, None]  # Keras would align it with T
        for weight in (sample_weight, getattr(y_pred, "_keras_mask", None)):
            if weight is not None:
                y_true = ops.where(ops.cast(weight, "bool"), y_true, 0)  # NaN times 0 would be NaN
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        function = r_drop_crossentropy if self.r_drop else smoothed_crossentropy
        options = (self.label_smoothing, self.r_drop) if self.r_drop else (self.label_smoothing,)
        if self.r_drop and (y_pred.shape[0] or 0) % 2:
            raise ValueError(f"r_drop needs each row twice, an even number. Received: {y_pred.shape[0]} rows")
        if not shared_by_replicas():  # XLA does not know parts of a CPU
            function = _compiled(function, y_pred.shape[-1])
        return function(ops.cast(y_true, "int32"), y_pred, *options)

    def get_config(self):
        config = {"name": self.name, "label_smoothing": self.label_smoothing, "dtype": self.dtype}
        return {**config, "r_drop": self.r_drop}


def smoothed_crossentropy(targets, logits, label_smoothing):
    """Cross entropy of each position: int `(B, T)` and `(B, T, V)` to `(B, T)`, in nats."""
    dtype = keras.backend.result_type(logits.dtype, "float32")
    logits = ops.cast(logits, dtype)
    largest = ops.stop_gradient(ops.max(logits, axis=-1, keepdims=True))
    total = (largest + ops.log(ops.sum(ops.exp(logits - largest), axis=-1, keepdims=True)))[..., 0]
    right = ops.cast(ops.arange(logits.shape[-1], dtype="int32") == targets[..., None], dtype)
    wanted = (1 - label_smoothing) * right + label_smoothing / logits.shape[-1]
    loss = total - ops.sum(wanted * logits, axis=-1)
    return ops.where((targets >= 0) & (targets < logits.shape[-1]), loss, float("nan"))


def r_drop_crossentropy(targets, logits, label_smoothing, r_drop):
    """Cross entropy and R-Drop of each position; rows 2k and 2k + 1 are copies, with half of a row's weight.

    KL(p || q) + KL(q || p) = sum_v (p_v - q_v) (z_v - z'_v) for logits z and z': the normalisers cancel.
    """
    logits = ops.cast(logits, keras.backend.result_type(logits.dtype, "float32"))
    pairs = ops.reshape(logits, (-1, 2, *ops.shape(logits)[1:]))  # (B, 2, T, V)
    p = ops.softmax(pairs)
    divergence = ops.sum((p[:, 0] - p[:, 1]) * (pairs[:, 0] - pairs[:, 1]), axis=-1)  # (B, T)
    plain = smoothed_crossentropy(targets, logits, label_smoothing)
    return plain + r_drop / 4 * ops.repeat(divergence, 2, axis=0)


def shared_by_replicas():
    """Whether several devices share each batch."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync > 1


@functools.cache
def _compiled(function, classes):
    """On TensorFlow, the function compiled by XLA, one program for each number of classes."""
    if keras.backend.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)

"""A mask on the output of a layer or model."""

import keras


@keras.saving.register_keras_serializable(package="keraszoo")
class Masked(keras.layers.Layer):
    """Returns its input with a mask that Keras passes on: to the next layer, or to the loss.

    A layer with several inputs passes on the mask of its first input by itself only if that mask came with
    the tensor, and on JAX Keras drops the mask that a subclassed model computes.

    Call arguments:
        inputs: a tensor `(B, T, ...)`, which is returned.
        mask: bool `(B, T)`, `True` = keep; `None`: that of the inputs.

    Example:

    >>> logits = Masked()(keras.ops.zeros((1, 2, 3), "float32"), mask=keras.ops.array([[True, False]]))
    >>> loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> round(float(loss(keras.ops.array([[1, 0]]), logits)), 4)  # log 3, the mean over one position
    1.0986
    """

    def __init__(self, **kwargs):
        super().__init__(**{"autocast": False, **kwargs})
        self.supports_masking = True
        self.built = True  # it has no weights; `Model.quantize` looks at it

    def call(self, inputs, mask=None):
        return inputs

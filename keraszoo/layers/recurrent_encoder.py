"""Recurrent nets in both directions (Schuster and Paliwal, 1997; Bahdanau et al., 2015, section 3.2)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.kernel_options import KernelOptions
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class BidirectionalEncoder(KernelOptions):
    """Annotations of a sentence: the states of a recurrent net in each direction, concatenated.

        h_j = [h->_j ; h<-_j]        h->_j = f(x_j, h->_{j-1})        h<-_j = f(x_j, h<-_{j+1})

    Both directions skip padding, which may be at any place.

    Args and Raises: those of `RecurrentStack`, without `backward`; `units` is U, of one direction.

    Call arguments:
        inputs: `(B, S, D)`.
        mask: bool `(B, S)`, `True` = a word; filled in by Keras.

    Returns:
        `(annotations, first_backward)`: `(B, S, 2 U)`, zero at padding, and `(B, U)`, the last layer's h<-_1,
        of the first word that is not padding.

    Example:

    >>> annotations, first_backward = BidirectionalEncoder(units=3)(ops.ones((2, 5, 4)))
    >>> tuple(annotations.shape), tuple(first_backward.shape)
    ((2, 5, 6), (2, 3))

    Reference: Bahdanau, Cho, Bengio, 2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, units, cell="gru", num_layers=1, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, num_layers=num_layers)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.units = int(units)
        self.cell = cell
        self.num_layers = int(num_layers)
        self.dropout = dropout
        self.between = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="between")

        def direction(name, backward):
            options = {**self.inherited(), "backward": backward}
            return [RecurrentStack(units, cell, **options, name=f"{name}_{i}") for i in range(num_layers)]

        self.left_to_right, self.right_to_left = direction("forward", False), direction("backward", True)

    def build(self, inputs_shape):
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})
        for layers in zip(self.left_to_right, self.right_to_left, strict=True):
            for layer in layers:
                layer.build(inputs_shape)
            inputs_shape = (*inputs_shape[:-1], 2 * self.units)

    def call(self, inputs, mask=None, training=None):
        x = inputs
        for i, layers in enumerate(zip(self.left_to_right, self.right_to_left, strict=True)):
            x = self.between(x, training=training) if i else x
            (forward, *_), (backward, first_backward, *_) = (layer(x, mask=mask) for layer in layers)
            x = ops.concatenate([forward, backward], axis=-1)  # (B, S, 2 U)
        return x, first_backward

    def compute_mask(self, inputs, previous_mask):
        return previous_mask, None

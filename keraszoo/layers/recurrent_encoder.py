"""Recurrent nets in both directions (Schuster and Paliwal, 1997; Bahdanau et al., 2015, section 3.2)."""

import keras
from keras import ops

from keraszoo.layers.arguments import check_sizes
from keraszoo.layers.configured import Configured
from keraszoo.layers.dropout import Dropout
from keraszoo.layers.recurrent_stack import RecurrentStack


@keras.saving.register_keras_serializable(package="keraszoo")
class BidirectionalEncoder(Configured, keras.layers.Layer):
    """Annotations of a sentence: the states of a recurrent net in each direction, concatenated.

        h_j = [h->_j ; h<-_j]        h->_j = f(x_j, h->_{j-1})        h<-_j = f(x_j, h<-_{j+1})

    Padding is at the end, and both directions skip it.

    Shapes: B batch, S source, D width of the inputs, U `units`.

    Args:
        units: U, of one direction.
        cell: a kind of `RecurrentCell`.
        num_layers: number of bidirectional layers in the stack.
        dropout: share of the inputs of each layer after the first that is dropped in training.

    Call arguments:
        inputs: `(B, S, D)`.
        inputs_mask, mask: bool `(B, S)`, `True` = a word; Keras fills in one of them from an embedding that
            masks.

    Returns:
        `(annotations, first_backward)`: `(B, S, 2 U)`, zero at padding, and `(B, U)`, the last layer's h<-_1.

    Raises:
        ValueError: if `cell` is unknown.

    Example:

    >>> import numpy as np
    >>> annotations, first_backward = BidirectionalEncoder(units=3)(np.ones((2, 5, 4)))
    >>> tuple(annotations.shape), tuple(first_backward.shape)
    ((2, 5, 6), (2, 3))

    Reference: Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
    2015, https://arxiv.org/abs/1409.0473.
    """

    def __init__(self, units, cell="gru", num_layers=1, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, num_layers=num_layers)
        self.supports_masking = True
        self.units = units
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.between = Dropout(dropout, dtype=self.dtype_policy)

        def direction(backward):
            name = "backward" if backward else "forward"
            return [
                RecurrentStack(units, cell, backward=backward, dtype=self.dtype_policy, name=f"{name}_{i}")
                for i in range(num_layers)
            ]

        self.left_to_right, self.right_to_left = direction(False), direction(True)

    def build(self, inputs_shape):
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: inputs_shape[-1]})
        for forward, backward in zip(self.left_to_right, self.right_to_left, strict=True):
            forward.build(inputs_shape)
            backward.build(inputs_shape)
            inputs_shape = (*inputs_shape[:-1], 2 * self.units)

    def call(self, inputs, inputs_mask=None, mask=None, training=None):
        x, inputs_mask = inputs, mask if inputs_mask is None else inputs_mask
        for i, layers in enumerate(zip(self.left_to_right, self.right_to_left, strict=True)):
            x = self.between(x, training=training) if i else x
            directions = [layer(x, inputs_mask=inputs_mask)[0] for layer in layers]
            x = ops.concatenate(directions, axis=-1)  # (B, S, 2 U)
        return x, x[:, 0, self.units :]

    def compute_mask(self, inputs, inputs_mask=None):
        return inputs_mask, None

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], 2 * self.units), (inputs_shape[0], self.units)

"""The loop over the positions of a sequence."""

from typing import NamedTuple

import keras
from keras import ops

from keraszoo.layers.arguments import require_shapes, shapes_fit


class _Cell:
    """A step as the cell of `keras.layers.RNN`, which loops over it; all states are given."""

    state_size = []

    def __init__(self, step):
        self.call = step

    def __call__(self, inputs, states):
        return self.call(inputs, states)


class _Sequences(NamedTuple):
    """Tensors `(B, T, ...)`; Keras' loop asks its inputs for their shape, and reads their length from it."""

    tensors: list

    @property
    def shape(self):
        return self.tensors[0].shape


def over_time(step, inputs, state, mask=None, backward=False):
    """Runs a step over all positions of a sequence, one after the other.

    It compiles to one loop for every length, and has a gradient on every backend. Compute before the loop
    what does not depend on the state, and dropout, of which JAX would draw the same numbers at each position.

    Args:
        step: a function of `(inputs, state)` that returns `(outputs, state)`, all nested tensors. Outputs are
            `(B, ...)`; the state keeps its structure, shapes and dtypes.
        inputs: nested tensors `(B, T, ...)` of rank 3 or more; a step gets `(B, ...)`.
        state: nested tensors, the state before the first position.
        mask: bool `(B, T)`, `True` = a word: at padding the outputs are zero and the state is kept. Each
            state must then be `(B, ...)`.
        backward: run from the last position to the first. The outputs keep the order of the inputs.

    Returns:
        `(outputs, state)`: nested tensors `(B, T, ...)`, and the state after the last position.

    Raises:
        ValueError: if a sequence has no positions, or the mask does not fit.

    Example:

    >>> def add(x, state):
    ...     return state + x, state + x
    >>> outputs, state = over_time(add, ops.ones((1, 3, 1), "float32"), ops.zeros((1, 1)), backward=True)
    >>> ops.convert_to_numpy(outputs).ravel().tolist()
    [3.0, 2.0, 1.0]
    """
    tree = keras.tree
    inputs, state = (tree.map_structure(ops.convert_to_tensor, nested) for nested in (inputs, state))
    sequences = tree.flatten(inputs)
    shapes = [tuple(x.shape) for x in sequences]
    require_shapes(all(shape[1] != 0 for shape in shapes), "inputs need one position at least", inputs=shapes)
    if mask is not None:
        fits = all(shapes_fit(x.shape[:2], mask.shape, broadcast=True) for x in sequences)
        shapes = {"mask": tuple(mask.shape), "inputs": tuple(sequences[-1].shape)}
        require_shapes(fits, "mask must be (batch, length)", **shapes)
        mask = ops.cast(mask, "bool")
        sequences = [mask[..., None], *sequences]

    def one_position(parts, before):
        parts = list(parts.tensors)
        is_word = parts.pop(0)[:, 0] if mask is not None else None
        outputs, after = step(tree.pack_sequence_as(inputs, parts), tree.pack_sequence_as(state, before))
        after = tree.flatten(after)
        if is_word is not None:
            after = [_choose(is_word, new, old) for new, old in zip(after, before, strict=True)]
        return outputs, after

    def turned(nested):
        return tree.map_structure(lambda x: ops.flip(x, axis=1), nested) if backward else nested

    loop = keras.layers.RNN(_Cell(one_position), return_sequences=True)
    _, outputs, last = loop.inner_loop(_Sequences(turned(sequences)), tree.flatten(state), mask=None)
    outputs = turned(outputs)
    if mask is not None:
        outputs = tree.map_structure(lambda x: _choose(mask, x, ops.zeros_like(x)), outputs)
    return outputs, tree.pack_sequence_as(state, list(last))


def _choose(mask, x, other):
    """`x` where the mask, of its first axes, holds; else `other`."""
    mask = ops.reshape(mask, (*ops.shape(mask), *[1] * (len(x.shape) - len(mask.shape))))
    return ops.where(mask, x, other)

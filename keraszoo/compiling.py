"""Compiles functions of a model that is not being trained: graphs on TensorFlow, programs on JAX."""

import keras


def compiled(function, model=None, signature=None):
    """Compiles a function; on PyTorch, it is only run without recording gradients.

    On TensorFlow the result is a `tf.function` without XLA. JAX compiles one program for each combination of
    argument shapes. The model's weights are arguments of the program, so it always uses their current values.
    Changes that the function makes to them are lost.

    Args:
        function: takes tensors, and returns tensors or a structure of them.
        model: the built Keras model that it uses; `None`: on JAX, the function is returned unchanged.
        signature: function of the module tensorflow that returns the `input_signature`; `None`: TensorFlow
            traces the function for a few shapes, and then once for all.

    Returns:
        A function of the same arguments.

    Example:

    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> layer.build((None, 2))
    >>> twice = compiled(lambda x: 2 * layer(x), layer)
    >>> float(twice(keras.ops.ones((1, 2)))[0, 0])
    4.0
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        specs = None if signature is None else signature(tf)
        return tf.function(function, input_signature=specs, reduce_retracing=True, autograph=False)
    if keras.backend.backend() == "jax" and model is not None:
        return _on_jax(function, model)
    if keras.backend.backend() == "torch":
        import torch

        return torch.no_grad()(function)
    return function


def _on_jax(function, model):
    import jax

    variables = model.variables

    @jax.jit
    def program(values, *arguments, **named):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*arguments, **named)

    return lambda *arguments, **named: program([v.value for v in variables], *arguments, **named)

"""A function of a model as a program, on the backend that compiles nothing unless it is told to."""

import keras


def jitted_on_jax(function, model):
    """A function that uses a model, compiled by JAX; on other backends the function as it is.

    JAX compiles one program for each combination of shapes of the arguments. The model's weights go in as
    arguments too, so that the program always uses those that the model has when it is called; what the
    function would change of them is lost.

    Args:
        function: takes arrays, and returns arrays or a structure of them.
        model: a built Keras model.

    Returns:
        A function of the same arguments.

    Example:

    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> layer.build((None, 2))
    >>> twice = jitted_on_jax(lambda x: 2 * layer(x), layer)
    >>> float(twice(keras.ops.ones((1, 2)))[0, 0])
    4.0
    """
    if keras.backend.backend() != "jax":
        return function
    import jax

    variables = model.variables

    @jax.jit
    def program(values, *arguments):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*arguments)

    return lambda *arguments: program([variable.value for variable in variables], *arguments)

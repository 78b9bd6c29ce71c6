"""A program of a model always uses the weights that the model has; on other backends there is none."""

import keras
import pytest

from keraszoo.training.held_out import jitted_on_jax

CHECK = """
import keras, numpy as np
from keraszoo.training.held_out import jitted_on_jax
dropping = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)])
traced = []
def both(x):
    traced.append(x.shape)
    return {"training": dropping(x, training=True), "twice": 2 * dropping(x)}
program = jitted_on_jax(both, dropping)
x = np.ones((3, 4), "float32")
seed = np.asarray(dropping.layers[0].seed_generator.state.value).tolist()
for _ in range(2):
    dropping.set_weights([np.random.rand(*w.shape) for w in dropping.get_weights()])
    np.testing.assert_allclose(program(x)["twice"], 2 * np.asarray(dropping(x)), rtol=1e-5)
program(x[:2])
assert traced == [(3, 4), (2, 4)], traced
assert np.asarray(dropping.layers[0].seed_generator.state.value).tolist() == seed
"""


def test_on_jax_one_program_for_each_shape_and_none_for_new_weights(on_backend):
    on_backend("jax", CHECK)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="there it is another function")
def test_elsewhere_it_is_the_function_itself():
    def function(x):
        return x

    assert jitted_on_jax(function, None) is function

"""A program of a model always uses the weights that the model has; a graph is traced once."""

import keras
import numpy as np
import pytest

from keraszoo.compiling import compiled

CHECK = """
import keras, numpy as np
from keraszoo.compiling import compiled
dropping = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)])
traced = []
def both(x):
    traced.append(x.shape)
    return {"training": dropping(x, training=True), "twice": 2 * dropping(x)}
program = compiled(both, dropping)
x = np.ones((3, 4), "float32")
seed = np.asarray(dropping.layers[0].seed_generator.state.value).tolist()
for _ in range(2):
    dropping.set_weights([np.random.rand(*w.shape) for w in dropping.get_weights()])
    np.testing.assert_allclose(program(x)["twice"], 2 * np.asarray(dropping(x)), rtol=1e-5)
program(x[:2])
assert traced == [(3, 4), (2, 4)], traced
assert compiled(both) is both
assert np.asarray(dropping.layers[0].seed_generator.state.value).tolist() == seed
"""


@pytest.mark.slow
def test_on_jax_one_program_for_each_shape_and_none_for_new_weights(on_backend):
    on_backend("jax", CHECK)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a graph of TensorFlow")
def test_on_tensorflow_one_graph_for_all_shapes_of_a_signature():
    traced = []

    def twice(x):
        traced.append(tuple(x.shape))
        return 2 * x

    program = compiled(twice, signature=lambda tf: [tf.TensorSpec([None], "float32")])
    assert [program(np.ones(n, "float32")).numpy().tolist() for n in (1, 2)] == [[2.0], [2.0, 2.0]]
    assert traced == [(None,)]

"""Ids may be floats, the default of `keras.Input`: half precision does not round them to other words."""

import keras
import numpy as np
import pytest
from keras import ops

from keraszoo.models import LuongNMT, MemoryNetwork, RecurrentTagger, RNNSearch, Transformer

V = 600  # bfloat16 has all integers up to 256 only
HALF = {"dtype": "mixed_bfloat16"}
PAIRS = (2, 5), (2, 4)
MODELS = {
    cls.__name__: (lambda cls=cls: cls.from_configuration("tiny", source_vocabulary_size=V, **HALF), PAIRS)
    for cls in (Transformer, RNNSearch, LuongNMT)
} | {
    "MemoryNetwork": (lambda: MemoryNetwork(V, width=8, **HALF), ((2, 3, 4), (2, 4))),
    "RecurrentTagger": (lambda: RecurrentTagger(3, V, 8, 6, train_vectors=True, **HALF), {"words": (2, 5)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_floats_are_the_same_words(name):
    make, shapes = MODELS[name]
    model, rng = make(), np.random.default_rng(0)
    ids = keras.tree.map_shape_structure(lambda shape: rng.integers(300, V, shape), shapes)
    floats = keras.tree.map_structure(lambda x: x.astype("float32"), ids)
    expected, found = (ops.convert_to_numpy(ops.cast(model(x), "float32")) for x in (ids, floats))
    np.testing.assert_array_equal(found, expected)

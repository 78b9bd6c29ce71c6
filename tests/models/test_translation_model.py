"""The contract itself: what the base supplies and what it leaves to a model."""

import numpy as np
import pytest
from keras import ops

from keraszoo.models import TranslationModel


@pytest.mark.parametrize(
    ("method", "arguments"), [("encode", (None,)), ("initial_state", (None,)), ("step", (None, None))]
)
def test_the_base_is_abstract(method, arguments):
    with pytest.raises(TypeError, match=f"TranslationModel is abstract: a model supplies {method}."):
        getattr(TranslationModel(5, 5), method)(*arguments)


def test_the_mask_is_what_is_not_padding():
    mask = TranslationModel(5, 5, source_pad_id=2).memory_mask(np.array([[4, 2, 0], [1, 2, 2]]))
    np.testing.assert_array_equal(ops.convert_to_numpy(mask), [[True, False, True], [True, False, False]])


def test_config_and_shape():
    model = TranslationModel(5, 7, source_pad_id=2)
    assert model.compute_output_shape(((3, 4), (3, 6))) == (3, 6, 7)
    again = TranslationModel.from_config(model.get_config())
    assert (again.source_vocabulary_size, again.target_vocabulary_size, again.source_pad_id) == (5, 7, 2)

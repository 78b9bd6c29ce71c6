"""Each model of `model_cases`, with random weights."""

import keras
import numpy as np
import pytest
from model_cases import MODELS, make, to_numpy


@pytest.fixture(params=MODELS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def random_model(name):
    """Weights far from the start, so that every path through the model shows in its numbers."""
    keras.utils.set_random_seed(5)
    model, rng = make(name), np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(to_numpy(weight) + 0.3 * rng.normal(size=weight.shape))
    return model

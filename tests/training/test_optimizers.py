"""The optimizer that a recipe asks for: its rates by the formulas, and gradients clipped all together."""

import keras
import numpy as np
import pytest

from keraszoo.training.optimizers import make_optimizer


def rate(optimizer, step):
    optimizer.iterations.assign(step)
    return float(optimizer.learning_rate)


def test_the_papers_schedule():
    optimizer = make_optimizer("transformer", d_model=256, warmup_steps=100, factor=2.0)
    for step in (1, 50, 100, 400):
        wanted = 2 * 256**-0.5 * min(step**-0.5, step * 100**-1.5)
        assert rate(optimizer, step - 1) == pytest.approx(wanted, rel=1e-5)


def test_inverse_square_root_rises_to_its_peak():
    optimizer = make_optimizer("inverse_sqrt", learning_rate=0.01, warmup_steps=100)
    assert rate(optimizer, 49) == pytest.approx(0.005) and rate(optimizer, 99) == pytest.approx(0.01)
    assert rate(optimizer, 399) == pytest.approx(0.005)


def test_constant():
    optimizer = make_optimizer("constant", learning_rate=0.25)
    assert rate(optimizer, 0) == rate(optimizer, 10_000) == 0.25


def test_adam_has_the_papers_numbers_by_default():
    config = make_optimizer("constant").get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.9, 0.98, 1e-9)


def test_the_gradient_is_clipped_over_all_weights_together():
    optimizer = make_optimizer("constant", clipnorm=1.0)
    clipped = optimizer._clip_gradients([keras.ops.array([3.0, 0.0]), keras.ops.array([4.0])])
    np.testing.assert_allclose(np.concatenate(clipped), [0.6, 0, 0.8], rtol=1e-6)


def test_an_unknown_schedule():
    with pytest.raises(ValueError, match="Unknown schedule: 'cosine'"):
        make_optimizer("cosine")

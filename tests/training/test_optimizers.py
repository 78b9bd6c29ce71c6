"""Schedules against the paper's formula, and the optimizer of a recipe."""

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.recipes.sections import OptimizerSection
from keraszoo.tagging.recipe import TaggerOptimizerSection
from keraszoo.training.optimizers import InverseSquareRoot, make_optimizer, transformer_schedule

STEPS = [1, 2, 3, 99, 100, 101, 3999, 4000, 4001, 100_000, 300_000]


@pytest.mark.parametrize(
    ("d_model", "warmup", "factor"), [(512, 4000, 1.0), (1024, 4000, 1.0), (7, 100, 2.5)]
)
def test_transformer_schedule_is_equation_3(d_model, warmup, factor):
    schedule = transformer_schedule(d_model, warmup, factor)
    for step in STEPS:
        paper = factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        # Keras numbers the update `step` of the paper `step - 1`.
        np.testing.assert_allclose(float(schedule(step - 1)), paper, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "arguments", "said"),
    [
        (transformer_schedule, {"d_model": 0}, "d_model must be at least 1, got 0"),
        (transformer_schedule, {"d_model": 8, "warmup_steps": 0}, "warmup_steps must be at least 1, got 0"),
        (
            transformer_schedule,
            {"d_model": 8, "factor": 0},
            "peak: expected a learning rate above 0, got 0.0",
        ),
        (InverseSquareRoot, {"peak": float("nan")}, "peak: expected a learning rate above 0, got nan"),
        (InverseSquareRoot, {"warmup_steps": float("nan")}, "warmup_steps must be at least 1, got nan"),
    ],
)
def test_arguments_out_of_range(make, arguments, said):
    defaults = {"peak": 1.0, "warmup_steps": 10} if make is InverseSquareRoot else {}
    with pytest.raises(KerasZooError, match=f"^{said}$"):
        make(**{**defaults, **arguments})


def rates(steps, d_model=None, counts=(1, 10, 100, 400), **options):
    """The rates of the updates `counts` in a run of so many steps."""
    optimizer = make_optimizer(OptimizerSection(**options), steps, d_model)
    values = []
    for count in counts:
        optimizer.iterations.assign(count - 1)
        values.append(float(optimizer.learning_rate))
    return values


def test_each_schedule_of_a_recipe():
    counts = np.array([1, 10, 100, 400.0])
    paper = 2 * 256**-0.5 * np.minimum(counts**-0.5, counts * 100**-1.5)
    options = {"schedule": "transformer", "warmup_steps": 100, "factor": 2.0}
    np.testing.assert_allclose(rates(9999, 256, **options), paper, rtol=1e-5)
    wanted = 0.01 * np.minimum(counts / 100, np.sqrt(100 / counts))
    np.testing.assert_allclose(rates(9999, learning_rate=0.01, warmup_steps=100), wanted, rtol=1e-5)
    assert rates(9999, schedule="constant", learning_rate=0.25) == [0.25] * 4


def test_a_cosine_falls_from_the_warm_up_to_zero_at_the_end():
    options = {"schedule": "cosine", "learning_rate": 0.01, "warmup_steps": 100}
    by_hand = [0.0001, 0.00505, 0.01, 0.005 + 0.005 * 2**-0.5, 0.005, 0]
    falling = rates(500, counts=(1, 51, 101, 201, 301, 501), **options)
    np.testing.assert_allclose(falling, by_hand, atol=1e-8)


@pytest.mark.parametrize(("steps", "warmup"), [(8, 1), (1000, 100), (1_000_000, 4000)])
def test_a_warm_up_that_is_not_stated_is_a_tenth_of_the_run(steps, warmup):
    counts = (1, warmup, 4 * warmup)
    wanted = [7e-4 / warmup, 7e-4, 3.5e-4]
    np.testing.assert_allclose(rates(steps, counts=counts), wanted, rtol=1e-5)
    # the peak is that of the paper's 4,000 steps, however short the warm-up is
    peak = (64 * 4000) ** -0.5
    transformer = rates(steps, 64, counts, schedule="transformer")
    np.testing.assert_allclose(transformer, [peak / warmup, peak, peak / 2], rtol=1e-5)


@pytest.mark.parametrize("schedule", ["constant", "cosine", "inverse_sqrt", "transformer"])
def test_the_rate_of_the_head_is_the_peak_that_is_given(schedule):
    options = {} if schedule == "transformer" else {"learning_rate": 0.01}
    section = TaggerOptimizerSection(schedule=schedule, head_learning_rate=0.5, **options)
    peak = 0.01 if options else (64 * 4000) ** -0.5
    assert make_optimizer(section, 100, 64).head_factor == pytest.approx(0.5 / peak)
    plain = TaggerOptimizerSection(schedule=schedule, **options)
    assert make_optimizer(plain, 100, 64).head_factor == 1


def test_the_optimizer_has_the_numbers_of_the_section_and_one_kind_of_clipping():
    config = make_optimizer(OptimizerSection(global_clipnorm=2.0), 10, accumulate=3).get_config()
    assert (config["beta_1"], config["beta_2"], config["epsilon"]) == (0.9, 0.98, 1e-9)
    assert (config["clipnorm"], config["global_clipnorm"], config["accumulate"]) == (None, 2.0, 3)
    config = make_optimizer(OptimizerSection(clipnorm=2.0), 10).get_config()
    assert (config["clipnorm"], config["global_clipnorm"]) == (2.0, None)  # as in Keras, for each weight
    assert TaggerOptimizerSection().global_clipnorm == 5.0
    assert TaggerOptimizerSection(clipnorm=1.0).global_clipnorm is None  # the default gives way
    with pytest.raises(ValueError, match="`clipnorm` and `global_clipnorm` exclude each other"):
        OptimizerSection(clipnorm=1.0, global_clipnorm=1.0)

"""Learning rate schedules against the paper's formula in plain Python."""

import json

import keras
import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.training.schedules import InverseSquareRoot, TransformerSchedule

STEPS = [1, 2, 3, 99, 100, 101, 3999, 4000, 4001, 100_000, 300_000]


@pytest.mark.parametrize(
    ("d_model", "warmup", "factor"), [(512, 4000, 1.0), (1024, 4000, 1.0), (7, 100, 2.5)]
)
def test_transformer_schedule_is_equation_3(d_model, warmup, factor):
    schedule = TransformerSchedule(d_model, warmup, factor)
    for step in STEPS:
        paper = factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        # Keras numbers the update `step` of the paper `step - 1`.
        np.testing.assert_allclose(float(schedule(step - 1)), paper, rtol=1e-6)


def test_the_base_model_peaks_at_seven_ten_thousandths_at_step_4000():
    rates = [float(TransformerSchedule(512)(step - 1)) for step in (1, 3999, 4000, 4001, 100_000)]
    assert max(rates) == rates[2]
    np.testing.assert_allclose(rates, [1.747e-7, 6.986e-4, 6.988e-4, 6.987e-4, 1.398e-4], rtol=1e-3)


def test_inverse_square_root_by_hand():
    schedule = InverseSquareRoot(peak=0.1, warmup_steps=4)
    rates = [float(schedule(step)) for step in range(16)]
    by_hand = [0.025, 0.05, 0.075, 0.1] + [0.1 * 2 / n**0.5 for n in range(5, 17)]
    np.testing.assert_allclose(rates, by_hand, rtol=1e-6)


def test_one_step_of_warm_up_has_no_division_by_zero():
    rates = [float(InverseSquareRoot(1.0, 1)(step)) for step in range(4)]
    np.testing.assert_allclose(rates, [1, 2**-0.5, 3**-0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("schedule", [TransformerSchedule(8, 10, 0.5), InverseSquareRoot(0.1, 10)])
def test_a_schedule_survives_json(schedule):
    config = json.loads(json.dumps(keras.optimizers.schedules.serialize(schedule)))
    again = keras.optimizers.schedules.deserialize(config)
    assert type(again) is type(schedule) and again.get_config() == schedule.get_config()
    assert float(again(12)) == float(schedule(12))


def test_an_optimizer_makes_its_first_update_with_the_rate_of_step_one():
    schedule = TransformerSchedule(d_model=4, warmup_steps=2)
    weight = keras.Variable([1.0])
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.build([weight])
    expected = 1.0
    for step in (1, 2, 3):
        optimizer.apply([keras.ops.ones((1,))])
        expected -= 4**-0.5 * min(step**-0.5, step * 2**-1.5)
        np.testing.assert_allclose(float(weight[0]), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TransformerSchedule(0),
        lambda: TransformerSchedule(8, warmup_steps=0),
        lambda: TransformerSchedule(8, factor=0),
        lambda: InverseSquareRoot(0, 10),
        lambda: InverseSquareRoot(float("nan"), 10),
        lambda: InverseSquareRoot(1.0, 0),
    ],
)
def test_arguments_out_of_range(make):
    with pytest.raises(KerasZooError, match="expected .*, got"):
        make()

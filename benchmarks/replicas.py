"""Compares the weights after training on one device and on several, and times a step.

    python benchmarks/replicas.py --model transformer --replicas 2 --steps 50
    python benchmarks/replicas.py --model recurrent_tagger_crf --replicas 4
    python benchmarks/replicas.py --model rnnsearch --replicas 4 --precision mixed_bfloat16
    python benchmarks/replicas.py --model transformer --replicas 2 --accumulate 2
    python benchmarks/replicas.py --model transformer --replicas 2 --precision float64
    python benchmarks/replicas.py --model transformer --strategy reversed
    KERAS_BACKEND=jax XLA_FLAGS=--xla_force_host_platform_device_count=2 \
        python benchmarks/replicas.py --model transformer --strategy data_parallel --shapes 2
    python benchmarks/replicas.py --model transformer --replicas 2 --dropout 0.3 --seeds 5
    python benchmarks/replicas.py --model transformer --replicas 2 --shapes 4    # for the time of a step

Both trainings see the same batches: uneven numbers of sentences, a small last batch, clipping, label
smoothing. Without GPUs the devices are parts of the CPU and share its cores. With `TF_CONFIG` set and
`--strategy workers` the other devices are other processes.

In float32 the order of a sum decides the last bit, which can change the side of a ReLU or which of two
numbers is larger. Adam makes equally large steps from small and large gradients, so the difference grows.
Two checks tell this from a fault: in float64 hardly any difference is left; and a control that shares
nothing, one device that reads the sentences of each batch in reverse order, shows the same difference.

Prints one JSON line. Without dropout it has `difference`, |w - w'| / |w| over all trained weights except
the biases of keys, which change nothing. With dropout the masks and so the weights differ; then it has the
loss of the last ten steps, mean and standard deviation over the seeds on both sides, and `sigmas`, the
difference of the means in units of its standard error.
"""

import argparse
import copy
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from replica_tasks import TASKS, make_task, weights

from keraszoo.recipes.sections import FitSection
from keraszoo.training.distribution import make_strategy
from keraszoo.training.loop import train

PERIOD = 10  # steps between two losses


class Clock(keras.callbacks.Callback):
    """Records the time at the end of each period."""

    def __init__(self):
        super().__init__()
        self.times = []

    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter())


def main():
    """Parses the command line, trains on one and on several devices, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=TASKS, default="transformer")
    parser.add_argument(
        "--strategy", choices=["mirrored", "workers", "data_parallel", "reversed"], default="mirrored"
    )
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--shapes", type=int, help="number of batch shapes; default: no limit")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.dropout and arguments.seeds < 2:
        parser.error("--dropout compares means over seeds: set --seeds to 2 or more")
    control = arguments.strategy == "reversed"
    replicas = None if arguments.strategy == "workers" else arguments.replicas
    strategy = None if control else make_strategy(arguments.strategy, replicas)
    shares = (1 if control else strategy.num_replicas_in_sync) * arguments.accumulate
    task = make_task(arguments.model, shares, arguments.batch_tokens, arguments.shapes)

    def run(batches, strategy, accumulate, seed):
        keras.utils.set_random_seed(seed)
        model, clock = task.model(arguments.precision, arguments.dropout), Clock()
        shared = {} if strategy is None else {"strategy": arguments.strategy, "replicas": replicas}
        shared |= {"steps": arguments.steps, "steps_per_evaluation": PERIOD, "accumulate": accumulate}
        given = {**task.learning(model, accumulate), "callbacks": [clock], "verbose": 0}
        history = train(model, batches, FitSection(epochs=1000, **shared), evaluate=None, **given)
        # Use the median: on one device the first batch of each shape waits for the compiler.
        step = np.median(np.diff(clock.times)) / PERIOD
        return weights(model), history.history["loss"], step

    other = reversed_rows(task.batches) if control else task.batches
    compare = with_dropout if arguments.dropout else without_dropout
    seeds = range(1, arguments.seeds + 1)
    figures = compare(
        [run(task.batches, None, 1, seed) for seed in seeds],
        [run(other, strategy, arguments.accumulate, seed) for seed in seeds],
    )
    print(json.dumps({"bench": "replicas", **vars(arguments), **figures}))


def reversed_rows(batches):
    """Returns the same batches with the sentences of each in reverse order."""
    other = copy.copy(batches)
    other.batch = lambda *which: keras.tree.map_structure(lambda rows: rows[::-1], batches.batch(*which))
    return other


def without_dropout(alone, shared):
    """Returns the largest differences over the seeds."""
    pairs = list(zip(alone, shared, strict=True))
    return {
        "difference": max(float(np.linalg.norm(a - b) / np.linalg.norm(a)) for (a, *_), (b, *_) in pairs),
        "loss_difference": max(np.abs(np.subtract(a, b)).max() for (_, a, _), (_, b, _) in pairs),
        "learned": alone[0][1][0] - alone[0][1][-1],
        "ms_a_step": milliseconds(alone),
        "ms_a_step_shared": milliseconds(shared),
    }


def with_dropout(alone, shared):
    """Returns the last losses of both sides and the difference of their means."""
    one, two = ([losses[-1] for _, losses, _ in side] for side in (alone, shared))
    error = np.sqrt((np.var(one, ddof=1) + np.var(two, ddof=1)) / len(one))
    return {
        "loss": [np.mean(one), np.std(one, ddof=1)],
        "loss_shared": [np.mean(two), np.std(two, ddof=1)],
        "sigmas": (np.mean(two) - np.mean(one)) / error,
        "learned": np.mean([losses[0] - losses[-1] for _, losses, _ in alone]),
        "ms_a_step": milliseconds(alone),
        "ms_a_step_shared": milliseconds(shared),
    }


def milliseconds(side):
    """Returns the time of a step: the median over periods, averaged over the seeds."""
    return round(1000 * float(np.mean([step for *_, step in side])), 1)


if __name__ == "__main__":
    main()

"""How far the weights are apart after training on one device and on several, and how long a step takes.

    python benchmarks/replicas.py --model transformer --replicas 2 --steps 50
    python benchmarks/replicas.py --model rnnsearch --replicas 4 --precision mixed_bfloat16
    python benchmarks/replicas.py --model transformer --replicas 2 --accumulate 2

Both trainings see the same batches: uneven numbers of sentences, a small last batch, clipping, label
smoothing, no dropout. Without GPUs the devices are parts of the CPU, which share its cores. With `TF_CONFIG`
set and `--strategy workers` the other devices are other processes. Prints one JSON line: `difference` is |w -
w'| / |w| over all weights but the biases of keys, which change nothing.
"""

import argparse
import json
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

from keraszoo.models import RNNSearch, Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.batches import TokenBatches
from keraszoo.training.distribution import make_strategy
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.run import train

VOCABULARY = 500
SIZES = {
    "transformer": {"d_model": 128, "num_layers": 2, "num_heads": 4, "hidden_dim": 256, "dropout": 0.0},
    "rnnsearch": {"embedding_dim": 64, "units": 64, "dropout": 0.0},
}
KINDS = {"transformer": Transformer, "rnnsearch": RNNSearch}


class Clock(keras.callbacks.Callback):
    """The time of each step."""

    def __init__(self):
        super().__init__()
        self.times = []

    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter())


def main():
    """Parses the command line, trains twice, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=SIZES, default="transformer")
    parser.add_argument("--strategy", choices=["mirrored", "workers"], default="mirrored")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    strategy = make_strategy(arguments.strategy, arguments.replicas)
    draw = np.random.default_rng(0)
    sides = [
        [draw.integers(4, VOCABULARY, size=draw.integers(3, 25)).tolist() for _ in range(1201)]
        for _ in range(2)
    ]
    corpus = ParallelCorpus.from_ids(*sides, pad_id=0, start_id=2, end_id=3)
    shares = strategy.num_replicas_in_sync * arguments.accumulate
    batches = TokenBatches(corpus, arguments.batch_tokens, seed=1, replicas=shares, shapes=None)

    def run(strategy, accumulate):
        keras.utils.set_random_seed(1)
        model = KINDS[arguments.model](VOCABULARY, dtype=arguments.precision, **SIZES[arguments.model])
        model.build()

        def compile_model(model):
            optimizer = make_optimizer(warmup_steps=20, clipnorm=0.5, accumulate=accumulate)
            model.compile(optimizer, TokenCrossentropy(0.1), jit_compile=False)

        clock = Clock()
        history = train(
            model,
            batches,
            compile_model,
            arguments.steps,
            steps_per_evaluation=10,
            callbacks=[clock],
            strategy=strategy,
            verbose=0,
        )
        step = (clock.times[-1] - clock.times[0]) / (arguments.steps - 10)  # the first ten compile
        # A key's bias adds the same to all scores of a query: its gradient is rounding alone.
        weights = [w.numpy().ravel() for w in model.weights if not w.path.endswith("/b_k")]
        return np.concatenate(weights), history.history["loss"], step

    one, losses, step_of_one = run(None, 1)
    two, others, step_of_two = run(strategy, arguments.accumulate)
    figures = {
        "difference": float(np.linalg.norm(one - two) / np.linalg.norm(one)),
        "loss_difference": max(abs(a - b) for a, b in zip(losses, others, strict=True)),
        "learned": losses[0] - losses[-1],
        "ms_a_step": round(1000 * step_of_one, 1),
        "ms_a_step_shared": round(1000 * step_of_two, 1),
    }
    print(json.dumps({"bench": "replicas", **vars(arguments), **figures}))


if __name__ == "__main__":
    main()

"""Measures the size of a checkpoint and the time to write and to read it.

    python benchmarks/checkpoint_cost.py

Uses a Transformer of 9.4 million weights with Adam's moments, the best weights and, by `--last`, several of
the last weights. Prints one JSON line. A run that saves every ten minutes spends `save_s / 600` of its time
on it.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras

from keraszoo.models import Transformer
from keraszoo.training.adam import Adam
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.state import Progress, model_state, pack


def main():
    """Parses the command line, saves three times, reads, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--last", type=int, default=1, help="weights kept for the average")
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    model = Transformer(8000, d_model=256, num_layers=4, num_heads=4, intermediate_dim=1024, dropout=0.1)
    model.build()
    model.compile(Adam(7e-4, 0.9, 0.98, 1e-9))
    model.optimizer.build(model.trainable_variables)
    best = {"period": 0, "figures": {"val_loss": 1.0}, "weights": model.get_weights()}
    progress = Progress(best=best, last=[model.get_weights()] * arguments.last)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "checkpoints")
        with Checkpoints(place).open() as checkpoints:
            for step in (1, 2, 3):
                started = time.perf_counter()
                state = {"model": model_state(model), "run": vars(progress)}
                checkpoints.save(step, *pack(state))
                seconds.append(time.perf_counter() - started)
        size = sum(file.stat().st_size for file in (place / "step-00000003").iterdir())
        started = time.perf_counter()
        with Checkpoints(place).open() as checkpoints:
            checkpoints.newest()
            read = time.perf_counter() - started
    figures = {
        "parameters": model.count_params(),
        "mb": round(size / 1e6, 1),
        "save_s": round(min(seconds), 2),
    }
    print(
        json.dumps({"bench": "checkpoint-cost", "last": arguments.last, **figures, "read_s": round(read, 2)})
    )


if __name__ == "__main__":
    main()

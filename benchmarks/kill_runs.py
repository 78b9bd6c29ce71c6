"""Kills trainings with `kill -9` at random instants, resumes them, and compares their results.

    python benchmarks/kill_runs.py --kills 200
    python benchmarks/kill_runs.py --kills 200 --steps 1500 --segment 8    # few long runs of many segments

A run trains a tiny Transformer with dropout and saves after every step, so that many kills hit a save. A
run is killed and resumed until it finishes; then the next run starts, until the number of kills is reached.
Each run must finish with the same state (weights, Adam's moments, random states, best and last weights,
history), bit for bit, as an uninterrupted run. Prints one JSON line; its `mb` are the median peaks of memory
of the first and the last 20 segments.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

from keraszoo.models import Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.adam import Adam
from keraszoo.training.checkpoint_files import read_checkpoint
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.loop import train
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.training.token_batches import TokenBatches
from keraszoo.translation.recipe import TrainingSection

V = 12
PEAKS = []  # KiB of memory that each segment needed


def judge(model):
    """A figure for each period of five updates, in place of an evaluation."""
    return {"val_loss": abs(2.0 - (int(model.optimizer.iterations) - 1) // 5)}


def train_to_the_end(folder, steps):
    """Runs one session of a run; returns the SHA-256 of its final state."""
    draw = np.random.default_rng(0)
    rows = [[draw.integers(4, V, size=draw.integers(1, 5)).tolist() for _ in range(18)] for _ in range(2)]
    corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)
    batches = TokenBatches(corpus, 32, seed=1, shapes=2)
    keras.utils.set_random_seed(1)
    model = Transformer(V, d_model=8, num_layers=1, num_heads=2, intermediate_dim=8, dropout=0.3)
    model.build()
    settings = TrainingSection(
        epochs=1000,
        steps=steps,
        steps_per_evaluation=5,
        checkpoint_steps=1,
        monitor="val_loss",
        average_last=2,
    )
    optimizer = Adam(InverseSquareRoot(0.01, 5), 0.9, 0.98, 1e-9, global_clipnorm=1.0)
    given = {"loss": TokenCrossentropy(0.1), "evaluate": judge, "optimizer": optimizer, "verbose": 0}
    with Checkpoints(folder).open() as checkpoints:
        history = train(model, batches, settings, checkpoints=checkpoints, **given)
    last = read_checkpoint(max(Path(folder).glob("step-*")))
    digest = hashlib.sha256(json.dumps([history.history["loss"], history.history["val_loss"]]).encode())
    arrays = {name: array for name, array in last.arrays.items() if not name.startswith("model/metrics")}
    for _, array in [*sorted(arrays.items()), *enumerate(model.get_weights())]:
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def in_a_child(folder, steps, answer, delay=None):
    """Trains in a child that is killed after `delay` seconds; returns whether it finished."""
    child = os.fork()
    if not child:
        code = 1
        try:
            sys.stderr = open(f"{answer}.log", "a")
            warnings.filterwarnings("error", "a damaged checkpoint|no checkpoint")
            Path(answer).write_text(train_to_the_end(folder, steps))
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    end = None if delay is None else time.monotonic() + delay
    while True:
        killed = end is not None and time.monotonic() >= end
        if killed:
            os.kill(child, signal.SIGKILL)
        done, status, usage = os.wait4(child, 0 if killed else os.WNOHANG)
        if done:
            break
        time.sleep(0.002)
    PEAKS.append(usage.ru_maxrss)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a session failed: {Path(f'{answer}.log').read_text()}")
    return os.WIFEXITED(status)


def main():
    """Parses the command line, kills and resumes runs, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--steps", type=int, default=40, help="steps of a run")
    parser.add_argument("--segment", type=float, help="mean seconds to a kill; default: half of a run")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the instants")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    kills = in_saving = 0
    runs, identical = {"killed": 0, "untouched": 0}, {"killed": 0, "untouched": 0}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer")
        in_a_child(Path(folder, "first"), arguments.steps, answer)
        wanted, started = answer.read_text(), time.monotonic()
        in_a_child(Path(folder, "second"), arguments.steps, answer)
        longest = time.monotonic() - started

        def delay(kills, left):
            """Seconds to the next kill; longer each time, or a run on a slow machine would never finish."""
            most = 2 * arguments.segment if arguments.segment else longest * (1 + kills / 10)
            return draw.uniform(0, most) if left > 0 else None

        while kills < arguments.kills:
            place = Path(folder, f"run-{sum(runs.values())}")
            before = kills
            while not in_a_child(
                place, arguments.steps, answer, delay(kills - before, arguments.kills - kills)
            ):
                kills += 1
                in_saving += place.exists() and any(item.name.endswith(".new") for item in place.iterdir())
            kind = "killed" if kills > before else "untouched"
            runs[kind] += 1
            identical[kind] += answer.read_text() == wanted
            if answer.read_text() != wanted:
                print(f"{place.name}: {kills - before} kills, and a different result", file=sys.stderr)
    ends = PEAKS[2:22], PEAKS[-20:]
    mb = [round(statistics.median(peaks) / 1024) for peaks in ends]
    figures = {"mb": mb, "kills": kills, "in_saving": in_saving, "runs": runs, "identical": identical}
    print(json.dumps({"bench": "kill-runs", "steps": arguments.steps, **figures}))


if __name__ == "__main__":
    main()

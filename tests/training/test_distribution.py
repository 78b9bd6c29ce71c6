"""One device and two make the same model; in processes of their own: a CPU is split before it computes."""

import json
import os
import socket
import subprocess
import sys

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.training import distribution

# Trains the same model on one device and on two, and prints how far apart the weights are.
CHECK = """
import json, sys
import keras
import numpy as np
from keraszoo.training.distribution import make_strategy
strategy = make_strategy(sys.argv[1], 2)
from keraszoo.models import RNNSearch, Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.batches import TokenBatches
from keraszoo.training.callbacks import LastWeights
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.run import train

draw = np.random.default_rng(0)
rows = [[draw.integers(4, 20, size=draw.integers(1, 7)).tolist() for _ in range(43)] for _ in range(2)]
corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)
batches = TokenBatches(corpus, 64, seed=1, replicas=4, shapes=None)  # the last batch is a small one
real = {(batches.batch(0, i)[2].sum(axis=1) > 0).sum() for i in range(len(batches))}
assert any(count % 2 for count in real) and len(real) > 2

def run(strategy, kind, dtype, parts, steps):
    keras.utils.set_random_seed(1)
    if kind == "transformer":
        model = Transformer(20, d_model=8, num_layers=1, num_heads=2, hidden_dim=8, dropout=0.0, dtype=dtype)
    else:
        model = RNNSearch(20, embedding_dim=4, units=4, dropout=0.0, dtype=dtype)
    model.build()
    def compile_model(model):
        optimizer = make_optimizer(learning_rate=3e-3, warmup_steps=10, clipnorm=0.3, accumulate=parts)
        model.compile(optimizer, TokenCrossentropy(0.1), jit_compile=False)
    last = LastWeights(1)
    history = train(model, batches, compile_model, steps, callbacks=[last], strategy=strategy, verbose=0)
    assert all(map(np.array_equal, last.mean(), model.get_weights()))
    # A key's bias adds the same to all scores of a query: its gradient is rounding, which Adam makes large.
    weights = [weight.numpy().ravel() for weight in model.weights if not weight.path.endswith("/b_k")]
    return np.concatenate(weights), history.history["loss"]

for kind, dtype, parts, steps in json.loads(sys.argv[2]):
    (one, losses), (two, other) = run(None, kind, dtype, 1, steps), run(strategy, kind, dtype, parts, steps)
    difference = float(np.linalg.norm(one - two) / np.linalg.norm(one))
    print(json.dumps([difference, abs(losses[-1] - other[-1]), losses[0] - losses[-1]]))
"""


# kind, dtype, parts of a batch on the two devices, steps; the largest difference
RUNS = [
    ("transformer", "float32", 2, 15, 1e-5),
    ("rnnsearch", "float32", 1, 8, 1e-5),
    ("transformer", "mixed_bfloat16", 1, 10, 2e-2),
]


def test_two_devices_make_the_model_of_one():
    command = [sys.executable, "-c", CHECK, "mirrored", json.dumps([run[:-1] for run in RUNS])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    for line, (*_, most) in zip(done.stdout.strip().splitlines()[-3:], RUNS, strict=True):
        weights, losses, learned = json.loads(line)
        assert weights < most and losses < most and abs(learned) > 1e-3


def test_two_workers_make_the_model_of_one():
    command = [sys.executable, "-c", CHECK, "workers", '[["transformer", "float32", 1, 10]]']
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{port.getsockname()[1]}" for port in (one, two)]
    cluster = {"cluster": {"worker": addresses}}
    workers = [
        subprocess.Popen(
            command,
            env={**os.environ, "TF_CONFIG": json.dumps({**cluster, "task": {"type": "worker", "index": i}})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    for worker in workers:
        out, error = worker.communicate(timeout=600)
        assert worker.returncode == 0, error
        weights, losses, learned = json.loads(out.strip().splitlines()[-1])
        assert weights < 1e-5 and abs(learned) > 1e-3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mirored", 2), "training.strategy: expected mirrored or workers, got 'mirored'"),
        (("workers", None), "training.strategy: workers are named by the environment variable TF_CONFIG"),
        ((None, 2), "training.replicas: 2 of them want a training.strategy"),
    ],
)
def test_strategies_that_there_are_not(arguments, said):
    with pytest.raises(KerasZooError, match=said):
        distribution.make_strategy(*arguments)


def test_a_cpu_that_has_computed_is_not_split_any_more():
    import tensorflow as tf

    tf.zeros(1)
    with pytest.raises(KerasZooError, match="the CPU cannot be split into 7 devices any more"):
        distribution.make_strategy("mirrored", 7)
    assert distribution.make_strategy(None, 1) is None


def test_another_backend_has_no_strategy(monkeypatch):
    monkeypatch.setattr(distribution.keras.backend, "backend", lambda: "jax")
    with pytest.raises(KerasZooError, match="training.strategy: needs TensorFlow, the backend is jax"):
        distribution.make_strategy("mirrored")

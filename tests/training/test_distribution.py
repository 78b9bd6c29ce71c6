"""One device and two make the same model; in processes of their own: a CPU is split before it computes."""

import contextlib
import json
import os
import subprocess
import sys
import types

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.models import RNNSearch
from keraszoo.training import distribution

# Trains the same model on one device and on two, and prints how far apart the weights are.
CHECK = """
import json, sys
import keras
import numpy as np
from keraszoo.training.distribution import make_strategy
replicas, on_jax = None if sys.argv[1] == "workers" else 2, sys.argv[1] == "data_parallel"
make_strategy(sys.argv[1], replicas)  # before anything is computed
if keras.backend.backend() == "tensorflow":  # graphs of a few steps are not worth the optimizer
    import tensorflow as tf
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
from keraszoo.models import AttentionTagger, RecurrentTagger, RNNSearch, Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.training.token_batches import TokenBatches
from keraszoo.training.adam import Adam
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.tagging.recipe import TaggerTrainingSection
from keraszoo.training.loop import train
from keraszoo.training.tag_batches import TagBatches
from keraszoo.training.tag_batches import TaggedRows

draw = np.random.default_rng(0)
rows = [[draw.integers(4, 20, size=draw.integers(1, 7)).tolist() for _ in range(43)] for _ in range(2)]
corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)
vocabulary = TaggingVocabulary(words=list(map(str, range(20))), characters="0123456789", labels=["even"])
tagged = [TaggedSentence([str(i) for i in row], ["O" if i % 2 else "B-even" for i in row]) for row in rows[0]]
few = {"seed": 1, "replicas": 4, "shapes": 1 if on_jax else None}
of_pairs = TokenBatches(corpus, 64, **few)  # the last batch is a small one
class Reversed(TokenBatches):
    # Instead of dropout, the order of the source tells the two copies of a row apart.
    def batch(self, epoch, i):
        (source, target_in), target_out, weight = super().batch(epoch, i)
        source[1::2] = source[1::2, ::-1]
        return (source, target_in), target_out, weight
of_copies = Reversed(corpus, 64, copies=2, **few)
of_tags = TagBatches(TaggedRows(tagged, vocabulary, ["words"]), 64, **few)
for batches in (of_pairs, of_tags):
    real = {(batches.batch(0, i)[2].sum(axis=1) > 0).sum() for i in range(len(batches))}
    assert any(count % 2 for count in real) and len(real) > 1
keras.random.normal = lambda shape, dtype, **_: keras.ops.zeros(shape, dtype)  # the noise of gates
tagger = {"num_tags": len(vocabulary.tags), "vocabulary_size": 22, "vector_width": 4, "units": 4}

def trained(name, kind, dtype, parts, steps):
    keras.utils.set_random_seed(1)
    if kind in ("transformer", "r_drop", "experts"):
        sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
        sizes |= {"num_experts": 4} if kind == "experts" else {}
        model = Transformer(20, **sizes, dropout=dropout, dtype=dtype)
    elif kind == "rnnsearch":
        model = RNNSearch(20, embedding_dim=4, units=4, dropout=dropout, dtype=dtype)
    elif kind == "crf":
        model = RecurrentTagger(**tagger, dropout=dropout, crf=True, dtype=dtype)
    else:
        model = AttentionTagger(**tagger, dropout=dropout, dtype=dtype)
    model.build()
    translates = kind in ("transformer", "rnnsearch", "r_drop", "experts")
    rate, clipped = InverseSquareRoot(3e-3, 10), {"global_clipnorm": 0.3}
    optimizer = Adam(rate, 0.9, 0.98, 1e-9, **clipped, accumulate=parts)
    alpha, of_loss = 2.0 if kind == "r_drop" else 0.0, "float64" if dtype == "float64" else "float32"
    loss = TokenCrossentropy(0.1, dtype=of_loss, r_drop=alpha) if translates else None
    batches = of_copies if kind == "r_drop" else of_pairs if translates else of_tags
    shared = {"strategy": name, "replicas": replicas} if name else {}
    shared |= {"monitor": "val_loss", "jit_compile": on_jax or None}
    settings = TaggerTrainingSection(epochs=100, steps=steps, accumulate=parts, **shared)
    evaluated = []
    def evaluate(model):  # the model on one device has the weights of the copy
        evaluated.append(model.get_weights())
        return {"val_loss": -float(len(evaluated))}
    history = train(
        model, batches, settings, loss=loss, optimizer=optimizer, evaluate=evaluate, verbose=0
    )
    assert all(map(np.array_equal, evaluated[-1], model.get_weights()))
    # A key's bias adds the same to all scores of a query: its gradient is rounding, which Adam makes large.
    weights = [weight for weight in model.weights if not weight.path.endswith("/b_k")]
    return np.concatenate([np.ravel(keras.ops.convert_to_numpy(x)) for x in weights]), history.history["loss"]

for kind, dtype, parts, steps in json.loads(sys.argv[2]):
    dropout = 0.3 if on_jax and parts == 1 else 0.0  # all devices of JAX together draw the numbers of one
    one, losses = trained(None, kind, dtype, 1, steps)
    two, other = trained(sys.argv[1], kind, dtype, parts, steps)
    difference = float(np.linalg.norm(one - two) / np.linalg.norm(one))
    print(json.dumps([difference, abs(losses[-1] - other[-1]), losses[0] - losses[-1]]))
"""


# Kind, dtype, parts of a batch on the two devices, steps; the largest difference. In float64 nothing is left
# of it but rounding, which in float32 grows from step to step, to 1e-4 on some processors: a ReLU is on one
# side or on the other of zero.
RUNS = [
    ("transformer", "float64", 2, 8, 2e-13),
    ("r_drop", "float64", 2, 8, 2e-13),
    ("experts", "float64", 1, 8, 2e-13),
    ("transformer", "float32", 2, 15, 1e-5),
    ("rnnsearch", "float32", 1, 8, 1e-5),
    ("transformer", "mixed_bfloat16", 1, 10, 2e-2),
    ("crf", "float32", 2, 8, 1e-5),
    ("attention", "float32", 1, 8, 1e-5),
    ("attention", "mixed_float16", 1, 8, 2e-2),
]


# In float64, Keras on JAX computes softmaxes, losses and norms in float32.
RUNS_ON_JAX = [("transformer", "float64", 2, 8, 1e-6), ("rnnsearch", "float32", 1, 8, 1e-5), RUNS[6]]
RUNS_ON_JAX.append(("experts", "float64", 1, 8, 1e-3))  # the gate starts at 0: Adam makes rounding large
ON_JAX = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
}


@pytest.mark.parametrize(
    ("strategy", "runs"),
    [
        ("mirrored", [RUNS[1]]),
        pytest.param("data_parallel", [("attention", "float32", 1, 8, 1e-5)], marks=pytest.mark.slow),
        pytest.param("mirrored", [RUNS[0], *RUNS[2:]], marks=pytest.mark.slow),
        pytest.param("data_parallel", RUNS_ON_JAX, marks=pytest.mark.slow),
    ],
    ids=["mirrored", "data_parallel", "mirrored, all", "data_parallel, all"],
)
def test_two_devices_make_the_model_of_one(strategy, runs):
    command = [sys.executable, "-c", CHECK, strategy, json.dumps([run[:-1] for run in runs])]
    environment = {**os.environ, **(ON_JAX if strategy == "data_parallel" else {})}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr
    for line, (*_, most) in zip(done.stdout.strip().splitlines()[-len(runs) :], runs, strict=True):
        weights, losses, learned = json.loads(line)
        assert weights < most and losses < max(most, 1e-6) and abs(learned) > 1e-3  # logs are in float32


# On two devices: a gradient that overflows on one of them, the masks of a layer of dropout, and then a run
# without a break, compared with one that is stopped and resumed.
APART = """
import os, signal, sys
import keras
import numpy as np
from keraszoo.training.distribution import copy_in_scope, make_strategy
strategy = make_strategy("mirrored", 2)
import tensorflow as tf
from keraszoo.models import Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.token_batches import TokenBatches
from keraszoo.training.checkpoints import Checkpoints
from keraszoo.training.adam import Adam, LossScale
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.recipes.sections import FitSection
from keraszoo.training.loop import train

def make(seed, dtype=None):
    keras.utils.set_random_seed(seed)
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8}
    model = Transformer(20, **sizes, dropout=0.5, dtype=dtype)
    model.build()
    return model

half = make(1, dtype="mixed_float16")
half = copy_in_scope(half, strategy)
with strategy.scope():
    half.compile(Adam(0.1, 0.9, 0.98, 1e-9))
    half.optimizer = LossScale.instead_of(half.optimizer)
    half.optimizer.build(half.trainable_variables)

@tf.function(autograph=False)
def step(overflowing):
    def of_replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        value = tf.where(tf.equal(number, overflowing), np.inf, 1.0)
        weights = half.trainable_variables
        half.optimizer.apply([tf.fill(weight.shape, value) for weight in weights], weights)
    strategy.run(of_replica)

for overflowing, made, halved in ((0, 0, 1), (1, 0, 2), (-1, 1, 2), (1, 1, 3)):
    before = half.get_weights()
    step(tf.constant(overflowing))
    assert all(map(np.array_equal, before, half.get_weights())) == (overflowing >= 0)
    adam = half.optimizer.inner_optimizer
    assert int(adam.iterations) == made
    scales = strategy.experimental_local_results(half.optimizer.dynamic_scale.value)
    assert all(scale.numpy() == 2.0 ** (15 - halved) for scale in scales)

model = make(1)
copy, ones = copy_in_scope(model, strategy), np.ones(4096, "float32")
layer = next(layer for layer in model._flatten_layers() if layer._seed_generators)
twin = next(layer for layer in copy._flatten_layers() if layer._seed_generators)
for _ in range(2):
    shared = strategy.run(tf.function(lambda: twin(ones, training=True)))
    first, second = (part.numpy() > 0 for part in strategy.experimental_local_results(shared))
    assert np.array_equal(first, layer(ones, training=True).numpy() > 0)
    assert abs((first == second).mean() - 0.5) < 0.05  # of independent ones half agree: +- 0.008
states = strategy.experimental_local_results(twin._seed_generators[0].state.value)
assert np.array_equal(*(state.numpy() for state in states))

draw = np.random.default_rng(0)
rows = [[draw.integers(4, 20, size=draw.integers(1, 7)).tolist() for _ in range(43)] for _ in range(2)]
corpus = ParallelCorpus.from_ids(*rows, pad_id=0, start_id=2, end_id=3)

def run(seed, folder, stop_at=None):
    model, batches = make(seed), TokenBatches(corpus, 64, seed=1, replicas=2, shapes=None)
    batch, asked = batches.batch, []
    def stopping(epoch, i):
        asked.append(i)
        if len(asked) == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return batch(epoch, i)
    batches.batch = stopping
    settings = FitSection(steps=6, steps_per_evaluation=6, strategy="mirrored", replicas=2)
    given = {"loss": TokenCrossentropy(), "optimizer": Adam(0.01, 0.9, 0.98, 1e-9)}
    with Checkpoints(folder).open() as checkpoints:
        history = train(model, batches, settings, evaluate=None, checkpoints=checkpoints, **given)
    return [v.numpy() for v in model.variables], history.history["loss"]

whole, loss = run(1, sys.argv[1] + "/whole")
try:
    run(1, sys.argv[1] + "/broken", stop_at=5)
    raise AssertionError("it was not stopped")
except SystemExit as end:
    assert end.code == 143
parts, other_loss = run(2, sys.argv[1] + "/broken")
assert all(map(np.array_equal, whole, parts))
assert np.allclose(loss, other_loss, rtol=1e-6)  # a running sum over the devices, put together and divided
"""


@pytest.mark.slow
def test_devices_draw_apart_leave_out_the_same_steps_and_go_on(tmp_path):
    command = [sys.executable, "-c", APART, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "resuming after step" in done.stderr


@pytest.mark.slow
def test_two_workers_make_the_model_of_one(start_workers):
    for worker in start_workers("-c", CHECK, "workers", '[["transformer", "float64", 1, 10]]'):
        out, error = worker.communicate(timeout=600)
        assert worker.returncode == 0, error
        weights, losses, learned = json.loads(out.strip().splitlines()[-1])
        assert weights < 1e-12 and abs(learned) > 1e-3


MIRORED = "training.strategy: expected one of mirrored, workers, data_parallel, got 'mirored'"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mirored", 2), MIRORED),
        (("workers", None), "training.strategy: the environment variable TF_CONFIG must name the workers"),
        (("data_parallel", 2), "training.strategy: data_parallel needs the backend jax, it is tensorflow"),
        (("workers", 3), "training.replicas: TF_CONFIG names the workers, got 3"),
        ((None, 2), "training.replicas: 2 of them need a training.strategy"),
        (("mirrored", 7), "the CPU cannot be split into 7 devices after"),
    ],
)
def test_strategies_that_cannot_be_made(arguments, said):
    import tensorflow as tf

    tf.zeros(1)  # a CPU that has computed is not split any more
    with pytest.raises(KerasZooError, match=said):
        distribution.make_strategy(*arguments)
    assert distribution.make_strategy(None, 1) is None


def test_another_backend_has_no_strategy(monkeypatch):
    monkeypatch.setattr(distribution.keras.backend, "backend", lambda: "jax")
    with pytest.raises(KerasZooError, match="mirrored needs the backend tensorflow, it is jax"):
        distribution.make_strategy("mirrored")
    monkeypatch.setattr(distribution.keras.distribution, "list_devices", lambda: ["cpu:0"])
    with pytest.raises(KerasZooError, match="expected at most 1, the number of JAX devices: 3"):
        distribution.make_strategy("data_parallel", 3)


@pytest.mark.parametrize(
    ("jobs", "task", "expected"),
    [
        ({"worker": 2}, ("worker", 0), True),
        ({"worker": 2}, ("worker", 1), False),
        ({"chief": 1, "worker": 2}, ("worker", 0), False),
        ({"chief": 1, "worker": 2}, ("chief", 0), True),
    ],
)
def test_the_chief_or_else_the_first_worker_writes(jobs, task, expected):
    tf = pytest.importorskip("tensorflow")
    spec = tf.train.ClusterSpec({job: [f"{job}{i}:1" for i in range(n)] for job, n in jobs.items()})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type=task[0], task_id=task[1])
    assert distribution.writes(types.SimpleNamespace(cluster_resolver=resolver)) is expected


def test_a_layer_that_is_frozen_is_frozen_in_the_copies():
    model = RNNSearch(9, embedding_dim=3, units=4)
    model.build()
    model.target_embedding.trainable = False
    strategy = types.SimpleNamespace(scope=contextlib.nullcontext)
    copy = distribution.copy_in_scope(model, strategy)
    shapes = [weight.shape for weight in copy.trainable_variables]
    assert shapes == [weight.shape for weight in model.trainable_variables]
    assert 0 < len(shapes) < len(copy.weights)


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("InternalError", "Blas GEMM launch failed", "Blas GEMM launch failed"),
        ("InternalError", "Collective ops is aborted by: x", r"another worker is gone \(Collective ops"),
        ("UnavailableError", "failed to connect to all addresses", r"another worker is gone \(failed to"),
    ],
)
def test_only_errors_of_the_network_are_laid_on_another_worker(monkeypatch, kind, message, expected):
    import tensorflow as tf

    monkeypatch.setattr(distribution, "shared_by_workers", lambda strategy: True)
    with pytest.raises(Exception, match=expected) as error:
        with distribution.while_all_workers_live(object()):
            raise getattr(tf.errors, kind)(None, None, message)
    assert isinstance(error.value, KerasZooError) == ("another" in expected)

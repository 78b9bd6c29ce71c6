"""Two workers of one training: if one is killed or told to stop, both stop cleanly and can resume."""

import random
import re
import signal
import time

import pytest

RECIPE = """
task: translation
data: {train: {tsv: train.tsv}}
subwords: {vocabulary_size: 40}
model:
  name: transformer
  preset: tiny
  overrides: {d_model: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8, dropout: 0.1}
training: {strategy: workers, batch_tokens: 128, steps: 90, checkpoint_steps: 10}
output: model
"""

# A callback stops the second worker alone, after the second of four epochs.
STOPPED = """
import json, os, sys
from keraszoo.training.distribution import make_strategy
make_strategy("workers")  # before anything is computed
import keras
from keraszoo import Translator
from keraszoo.models import Transformer
from keraszoo.text.subwords import Subwords

class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1 and json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
            self.model.stop_training = True

pairs = [(str(i), str(i)) for i in range(300)]
subwords = Subwords.train([source for source, _ in pairs], 20)
model = Transformer(20, d_model=8, num_layers=1, num_heads=2, intermediate_dim=8)
history = Translator(model, subwords).fit(
    pairs, epochs=4, batch_tokens=256, strategy="workers", callbacks=Stop(), verbose=0
)
print("epochs", len(history.epoch), file=sys.stderr)
"""


@pytest.fixture
def start(start_workers):
    """Starts two workers that train by the recipe."""
    return lambda output: start_workers("-m", "keraszoo", "train", "recipe.yaml", "--output", output)


def end(worker):
    """(status, stderr) of a worker, for which at most five minutes are waited."""
    _, said = worker.communicate(timeout=300)
    return worker.returncode, said


def wait_for(path, worker):
    """Waits until a path is there, or the worker is not."""
    until = time.monotonic() + 300
    while not path.exists() and worker.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.slow
def test_a_worker_that_ends_ends_the_other_and_both_go_on(tmp_path, start):
    draw = random.Random(1)
    words = "one two three four five six seven eight nine ten".split()
    lines = [draw.choices(range(10), k=draw.randint(1, 6)) for _ in range(300)]
    pairs = [f"{' '.join(words[i] for i in line)}\t{' '.join(map(str, line))}\n" for line in lines]
    tmp_path.joinpath("train.tsv").write_text("".join(pairs), encoding="utf-8")
    tmp_path.joinpath("recipe.yaml").write_text(RECIPE, encoding="utf-8")

    survivor, victim = start("broken")
    wait_for(tmp_path / "broken.checkpoints" / "step-00000010", victim)
    victim.send_signal(signal.SIGKILL)
    status, said = end(victim)
    assert status == -signal.SIGKILL, said
    killed = time.monotonic()
    status, said = end(survivor)
    assert status == 2 and time.monotonic() - killed < 120
    assert "keraszoo: worker 0 waits for all of worker:127.0.0.1:" in said
    assert "Traceback" not in said
    last = said.strip().splitlines()[-1]
    assert last.startswith("keraszoo: error: another worker is gone (")
    assert last.endswith("); start all of them again to resume the run")

    _, told = workers = start("broken")
    wait_for(tmp_path / "broken.checkpoints" / "step-00000030", told)
    told.send_signal(signal.SIGTERM)
    stops = set()
    for worker in workers:
        status, said = end(worker)
        assert status == 143, said
        stops.add(re.search(r"SIGTERM: stopped after step (\d+), it is saved in .*broken", said)[1])
    (stop,) = stops
    assert (tmp_path / "broken.checkpoints" / f"step-{int(stop):08}").is_dir()

    for output in ("broken", "whole"):
        for worker in start(output):
            status, said = end(worker)
            assert status == 0, said
    whole, broken = (tmp_path / output / "model.safetensors" for output in ("whole", "broken"))
    assert whole.read_bytes() == broken.read_bytes()


@pytest.mark.slow
def test_a_callback_that_stops_one_worker_stops_both(start_workers):
    for worker in start_workers("-c", STOPPED):
        status, said = end(worker)
        assert status == 0 and said.endswith("epochs 2\n"), said

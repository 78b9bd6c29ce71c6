# %% [markdown]
# # Multiple devices and a killed run
#
# A result must not depend on the number of devices, or on whether a run was interrupted. This tutorial trains a small translator three times: once
# undisturbed, once killed in the middle and resumed, and once on two devices. Then it compares the weights.
#
# Everything here runs on a laptop: without GPUs, the CPU is split into two logical devices. That is not faster, but it does the same work as two
# GPUs.

# %%
import hashlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
from num2words import num2words

numbers = random.Random(1).sample(range(10_000), 1_000)
for name, some in (("train", numbers[100:]), ("val", numbers[:100])):
    lines = "".join(f"{num2words(n)}\t{num2words(n, lang='de')}\n" for n in some)
    Path(f"{name}.tsv").write_text(lines, encoding="utf-8")

# %% [markdown]
# `checkpoint_steps: 10` saves the run after every tenth update. The default is every ten minutes and after each evaluation.

# %%
Path("recipe.yaml").write_text("""
data: {train: {tsv: train.tsv}, validation: {tsv: val.tsv}}
subwords: {vocabulary_size: 100}
model: {name: rnnsearch, overrides: {embedding_dim: 32, units: 32, dropout: 0}}
training:
  epochs: 2
  batch_tokens: 256
  monitor: val_loss
  checkpoint_steps: 10
  optimizer: {learning_rate: 0.005, warmup_steps: 20}
output: undisturbed
""")


def digest(folder):
    """Returns the beginning of the SHA-256 of the weights."""
    return hashlib.sha256(Path(folder, "model.safetensors").read_bytes()).hexdigest()[:16]


# %% [markdown]
# ## Undisturbed

# %% language="bash"
# keraszoo train recipe.yaml 2>&1

# %% [markdown]
# ## Killed
#
# The same recipe with another output. As soon as the first checkpoint is there, we kill the process with `SIGKILL`, the signal of `kill -9` and of the
# kernel when memory is short. No program can catch it.

# %%
command = ["keraszoo", "train", "recipe.yaml", "--output", "killed"]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
checkpoints = Path("killed.checkpoints")
while process.poll() is None and not list(checkpoints.glob("step*")):
    time.sleep(0.01)
process.send_signal(signal.SIGKILL)
print("exit status", process.wait())
print(sorted(path.name for path in checkpoints.iterdir()))

# %% [markdown]
# A checkpoint is a folder with the weights, the optimizer's moments, the random states and the position in the data. It is written next to its
# target and renamed, so a kill during writing does no harm. The same command resumes the run:

# %% language="bash"
# keraszoo train recipe.yaml --output killed 2>&1

# %%
print("undisturbed", digest("undisturbed"))
print("killed     ", digest("killed"))

# %% tags=["remove-cell"]
assert digest("undisturbed") == digest("killed")

# %% [markdown]
# **Look at** the two digests: the files are equal, bit for bit. On a CPU this holds no matter when the run is killed.
#
# Ctrl-C and SIGTERM are more polite: the run finishes its current update, saves it, and says that the same command resumes it.
#
# ## Two devices
#
# `--strategy mirrored` gives each device half of the rows of every batch. Both compute gradients with the same weights, and the gradients are summed:
#
# $$
# \nabla L = \sum_{d=1}^{D} \; \sum_{i \in \mathrm{device}\ d} \frac{1}{N} \nabla \ell_i
# $$
#
# with $N$ the number of real target tokens of the **whole** batch. Dividing by the tokens of each device and averaging, as is common, would weight
# a token by the device it happens to be on.

# %% language="bash"
# keraszoo train recipe.yaml --strategy mirrored --output mirrored --set training.replicas=2 2>&1

# %%
losses = {}
for name in ("undisturbed", "mirrored"):
    losses[name] = json.loads(Path(name, "metrics.json").read_text())["validation"]["val_loss"]
    print(f"{name:12} validation loss {losses[name]:.4f}")

# %% tags=["remove-cell"]
assert np.isclose(*losses.values(), rtol=0.1)

# %% [markdown]
# **Look at** the logs: an epoch has 40 updates instead of 39, because each batch must split evenly and the number of its rows is rounded to a
# multiple of two. So the batches are not the same, and the losses differ a little while they still fall steeply. On equal batches the weights agree up
# to rounding; [Several devices](../distributed.md) has the measurements.
#
# ## A batch that does not fit
#
# With one device and too little memory, `accumulate: 2` splits each batch into two parts and adds their gradients. It makes the same updates.
#
# ## Exercises
#
# 1. Kill the run twice, at other moments. Does the digest change?
# 2. Resume a killed run with `--set training.epochs=3`. What does the message say, and why is this an error?
# 3. Train with `--set training.accumulate=2 --output parts`, and compare the validation loss.

# %%
same = "equal" if digest("undisturbed") == digest("killed") else "different"
print(f"weights after a kill: {same}; this page took {sum(os.times()[:4]):.0f} CPU seconds")

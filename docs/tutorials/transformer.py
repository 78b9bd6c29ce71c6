# %% [markdown]
# # From RNNsearch to the Transformer, on your own two text files
#
# You have two files: line n of one translates line n of the other. This tutorial trains two models on them with the same recipe, an RNNsearch of
# 2015 and a Transformer of 2017, and compares them. Here the files are generated so that the page runs in a few minutes. With your own files, change
# the paths.

# %% tags=["remove-cell"]
# %matplotlib inline

# %%
import random
from pathlib import Path

import keras
from num2words import num2words

keras.utils.set_random_seed(1)
numbers = [*range(21), *random.Random(1).sample(range(21, 10_000), 2_700)]
for part, some in {"train": numbers[:-200], "val": numbers[-200:-100], "test": numbers[-100:]}.items():
    for language in ("en", "de"):
        lines = "".join(f"{num2words(n, lang=language)}\n" for n in some)
        Path(f"{part}.{language}").write_text(lines, encoding="utf-8")

# %% language="bash"
# paste train.en train.de | head -4
# wc -l *.en *.de

# %% [markdown]
# ## A recipe
#
# A recipe is a YAML file with everything that decides the result: data, vocabulary, model, training. Settings that you leave out have defaults.
# Numbers are single words in German, so BLEU, which counts four words in a row, does not suit them: the recipe monitors the loss on the
# validation pairs. For sentences leave `monitor` out.

# %%
recipe = """
data:
  train: {source: train.en, target: train.de}
  validation: {source: val.en, target: val.de}
subwords: {vocabulary_size: 110}            # one vocabulary of both languages; 4,000 to 8,000 for real text
model: {name: MODEL, overrides: SIZES}
training:
  epochs: 4
  batch_tokens: 1024
  label_smoothing: 0.0
  monitor: val_loss
  optimizer: {learning_rate: 0.004, warmup_steps: 50, global_clipnorm: 1.0}
search: {beam_width: 1}
output: OUTPUT
"""
SIZES = {
    "rnnsearch": "{embedding_dim: 64, units: 96, dropout: 0.1}",
    "transformer": "{d_model: 96, num_layers: 2, num_heads: 4, intermediate_dim: 384, dropout: 0.1}",
}
for name, sizes in SIZES.items():
    text = recipe.replace("MODEL", name).replace("SIZES", sizes).replace("OUTPUT", f"models/{name}")
    Path(f"{name}.yaml").write_text(text)

# %% [markdown]
# ## Train on the command line
#
# The log shows one line per epoch. Ctrl-C saves the run, and the same command resumes it.

# %% language="bash"
# keraszoo train rnnsearch.yaml 2>&1

# %% [markdown]
# ## Train in Python
#
# `run_recipe` does the same from Python and returns the translator.

# %%
from keraszoo.recipes.runs import read_recipe, run_recipe

transformer = run_recipe(read_recipe("transformer.yaml"))

# %% [markdown]
# ## Compare
#
# Both directories hold a complete translator: vocabulary, weights, settings, figures and a model card.

# %%
from keraszoo import Translator

sources = Path("test.en").read_text(encoding="utf-8").splitlines()
references = Path("test.de").read_text(encoding="utf-8").splitlines()
right, translators = {}, {}
for name in SIZES:
    translators[name] = translator = Translator.from_preset(f"models/{name}")
    translations = translator.translate(sources)
    right[name] = sum(map(str.__eq__, translations, references)) / len(sources)
    parameters, seconds = translator.model.count_params(), translator.metrics["training"]["seconds"]
    print(f"{name:12} {parameters:7,} parameters, trained {seconds:4.0f} s, {right[name]:.1%} exactly right")

# %% [markdown]
# **Look at** the scores and the times, and do not read too much into them: on a few thousand short pairs RNNsearch learns faster. The Transformer has no
# built-in idea of order and has to learn from the added positions where a word is. On real captions it
# overtakes RNNsearch after twice as many updates: the [results](../results.md) have both scores.
#
# ## What each looks at
#
# RNNsearch has one attention per target word. The Transformer has one per head and layer,
#
# $$
# \mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
# $$
#
# and the picture shows the mean over the heads of its last layer.

# %%
from IPython.display import display

from keraszoo.plots import attention_heatmap

for name in SIZES:
    (drawn,) = translators[name].translate_details(["three hundred and forty-two"])
    figure = attention_heatmap(drawn.source_tokens, drawn.tokens, drawn.attention_weights, title=name)
    display(figure)

# %% [markdown]
# ## Score real text
#
# For sentences use `keraszoo evaluate MODEL --source test.en --references test.de`. It prints BLEU, chrF and TER with the signatures that make them
# comparable.
#
# ## Exercises
#
# 1. Double the epochs: `keraszoo train transformer.yaml --set training.epochs=8 --output models/longer`. Does the order of the two models change?
# 2. Train with `--seeds 3`. Is the difference between the models larger than the deviation between seeds?
# 3. Set `model.overrides.positions: rotary`. What changes?

# %%
import os

scores = ", ".join(f"{name} {score:.1%}" for name, score in right.items())
print(f"exactly right: {scores}; this page took {sum(os.times()[:4]):.0f} CPU seconds")

# %% tags=["remove-cell"]
assert right["rnnsearch"] > 0.8

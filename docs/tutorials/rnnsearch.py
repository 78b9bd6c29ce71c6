# %% [markdown]
# # RNNsearch on number words
#
# RNNsearch (Bahdanau et al. 2015) was the first translation model with attention. We train it on a small, exact task that needs no data
# set: numbers from English to German. "twenty-one" is "einundzwanzig", literally "one-and-twenty", so the model has to learn a different word
# order. After two minutes we can see the order in its attention weights.

# %% tags=["remove-cell"]
# %matplotlib inline

# %% [markdown]
# ## Data
#
# The library num2words writes numbers in words. Numbers up to 20 have words of their own, so we train on all of them. The held-out
# numbers are new combinations of known words.

# %%
import random

import keras
from num2words import num2words

keras.utils.set_random_seed(1)
numbers = [*range(21), *random.Random(1).sample(range(21, 10_000), 3_400)]
pairs = [(num2words(n), num2words(n, lang="de")) for n in numbers]
train, validation, test = pairs[:-400], pairs[-400:-300], pairs[-300:]
for source, target in train[-3:]:
    print(f"{source}  =  {target}")

# %% [markdown]
# ## Subwords
#
# The model reads and writes subwords, frequent pieces of words, so that no word is unknown. On German numbers most pieces are words again:

# %%
from keraszoo.text.subwords import Subwords

english = Subwords.train([source for source, _ in train], vocabulary_size=100)
german = Subwords.train([target for _, target in train], vocabulary_size=68)
print(german.pieces(german.encode(["eintausendsiebenhundertfünfunddreißig"])[0]))

# %% [markdown]
# ## The model
#
# The encoder is a recurrent network in both directions. It gives an annotation $h_j$ for each source subword. Before it writes target subword $i$, the
# decoder compares its state $s_{i-1}$ with all annotations:
#
# $$
# e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \qquad \alpha_{ij} = \mathrm{softmax}_j(e_{ij}), \qquad c_i = \sum_j \alpha_{ij} h_j
# $$
#
# and computes its next state from $s_{i-1}$, the last subword and the context $c_i$. The [reference](../reference/models.md) lists all
# equations with their numbers in the paper.

# %%
from keraszoo import Translator
from keraszoo.models import RNNSearch

model = RNNSearch(english.vocabulary_size, german.vocabulary_size, embedding_dim=64, units=128, dropout=0.1)
translator = Translator(model, english, german)
print(f"{model.count_params():,} parameters")

# %% [markdown]
# ## Training
#
# `fit` makes batches of similar length, at most `batch_tokens` tokens each. It keeps the weights with the best loss on the validation pairs.

# %%
history = translator.fit(
    train,
    validation,
    epochs=5,
    batch_tokens=1024,
    label_smoothing=0.0,
    monitor="val_loss",
    optimizer={"learning_rate": 4e-3, "warmup_steps": 50, "global_clipnorm": 1.0},
    verbose=0,
)

# %%
import matplotlib.pyplot as plt

plt.figure(figsize=(6, 2.8))
plt.plot(range(1, 6), history.history["loss"], "o-", label="training")
plt.plot(range(1, 6), history.history["val_loss"], "o-", label="validation")
plt.xlabel("epoch")
plt.ylabel("cross entropy per subword")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# **Look at** the validation curve: it is below the training curve. Dropout disturbs training only, and the training loss is a mean over an epoch in
# which the model was still learning.
#
# ## How many numbers are right?
#
# The references are exact, so we count exact matches. `beam_width=1` is greedy search: the best subword at each step.

# %%
sources, references = map(list, zip(*test, strict=True))
translations = translator.translate(sources, beam_width=1)
wrong = [triple for triple in zip(sources, translations, references, strict=True) if triple[1] != triple[2]]
right = 1 - len(wrong) / len(test)
print(f"{right:.1%} of {len(test)} held-out numbers are exactly right")
for source, translation, reference in wrong[:3]:
    print(f"{source}: {translation}, but {reference} is right")

# %% [markdown]
# ## The alignment
#
# `translate_details` also returns the attention weights: a row for each target subword, a column for each source subword.

# %%
from keraszoo.plots import attention_heatmap

(drawn,) = translator.translate_details(["four thousand, seven hundred and thirty-five"], beam_width=1)
attention_heatmap(drawn.source_tokens, drawn.tokens, drawn.attention_weights, title=drawn.text)

# %% [markdown]
# **Look at** the lower right corner: "fünf" attends to the end of the source, and "dreißig" to the word before it. The rest is a
# diagonal, because thousands and hundreds have the same order in both languages. Weights may be one subword away from the expected one:
# the annotations of a recurrent encoder contain their neighbours.
#
# ## Score a given translation
#
# `score` reads both sentences by teacher forcing and returns the log-probability, also of a translation that the model would not choose. Here the
# order of the last two digits is wrong. (`align` returns the attention weights of a given translation.)

# %%
pair = ["thirty-five"], ["fünfunddreißig"]
swapped = ["thirty-five"], ["dreiundfünfzig"]
print("log-probabilities:", translator.score(*pair), translator.score(*swapped))

# %% [markdown]
# ## Exercises
#
# 1. Train `RNNEncDec(english.vocabulary_size, german.vocabulary_size, embedding_dim=64, units=192)` on the same numbers. It has no attention.
#    How many numbers are right, and which ones are wrong?
# 2. num2words knows many other languages. What does the heat map of French "quatre-vingt-dix-sept" look
#    like?
# 3. Translate "nine nine nine". What does the model do with a phrase that is not a number?

# %%
import os

print(f"{right:.1%} exactly right; this page took {sum(os.times()[:4]):.0f} CPU seconds")

# %% tags=["remove-cell"]
assert right > 0.9

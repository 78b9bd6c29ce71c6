# %% [markdown]
# # A CRF in your own Keras model
#
# A tagger that chooses each tag alone can write impossible sequences, such as the second word of a name without the first. A conditional random
# field (CRF) scores the tags of a sentence together. This tutorial adds the layer `CRF` to a stock Keras model, trains it with `compile` and
# `fit`, and looks at what it learned.

# %% tags=["remove-cell"]
# %matplotlib inline

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

# %% [markdown]
# ## A task with neighbours
#
# Words are the numbers 1 to 49, and 0 is padding. An entity has two words, with the tags `B` and `I`. It begins at a multiple of 3, unless this
# word is already the second one of an entity. All other words are `O`. Finally, 5 % of the words are replaced by random ones, so that some tags can
# only be guessed.

# %%
TAGS = ["O", "B", "I"]


def make_data(count, length=12):
    """Returns noisy words and tags, with padding at the end of every second sentence."""
    clean = rng.integers(1, 50, size=(count, length))
    tags = np.zeros_like(clean)
    for t in range(length):
        second = (tags[:, t - 1] == 1) if t else np.zeros(count, bool)
        tags[:, t] = np.where(second, 2, clean[:, t] % 3 == 0)
    noisy = np.where(rng.random(clean.shape) < 0.05, rng.integers(1, 50, size=clean.shape), clean)
    noisy[::2, 8:] = 0  # padding
    return noisy, tags


words, tags = make_data(3000)
test_words, test_tags = make_data(500)
print(*(f"{word}/{TAGS[tag]}" for word, tag in zip(words[1], tags[1], strict=True)))

# %% [markdown]
# ## Without a CRF
#
# The baseline looks at each word alone: an embedding, a small network, and a softmax over the three tags. `mask_zero=True` tells Keras to ignore
# the padding.


# %%
def encode(inputs):
    """Returns a score for each tag at each word, the emissions."""
    x = keras.layers.Embedding(50, 16, mask_zero=True)(inputs)
    return keras.layers.Dense(3)(keras.layers.Dense(32, activation="relu")(x))


inputs = keras.Input((None,), dtype="int32")
baseline = keras.Model(inputs, encode(inputs))
baseline.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
baseline.fit(words, tags, epochs=8, verbose=0)
alone = baseline.predict(test_words, verbose=0).argmax(axis=-1)

# %% [markdown]
# ## With a CRF
#
# A linear-chain CRF scores a whole sequence of tags: the emissions $e_t$ of the words, a matrix $A$ of transitions between neighbouring tags, and
# the vectors $a$ and $b$ for the first and the last tag. The probability is normalised over **all** sequences:
#
# $$
# s(x, y) = a[y_1] + \sum_t e_t[y_t] + \sum_{t>1} A_{y_{t-1}, y_t} + b[y_T], \qquad p(y \mid x) = \frac{\exp s(x, y)}{\sum_{y'} \exp s(x, y')}
# $$
#
# $A$, $a$ and $b$ are the weights `transitions`, `start` and `end` of the layer `CRF`, and `CRFLoss` is $-\log p(y \mid x)$. Two lines change:

# %%
from keraszoo.layers import CRF, CRFAccuracy, CRFLoss

inputs = keras.Input((None,), dtype="int32")
crf = CRF(num_tags=3)
chain = crf(encode(inputs))
model = keras.Model(inputs, chain)
model.compile(keras.optimizers.Adam(0.01), loss=CRFLoss(), metrics=[CRFAccuracy()])
model.fit(words, tags, epochs=8, verbose=0)

best_tags, score = keras.Model(inputs, crf.decode_chain(chain)).predict(test_words, verbose=0)

# %% [markdown]
# `decode_chain` finds the best sequence by the Viterbi algorithm. It gives the tags and the score $s(x, y)$.


# %%
def accuracy(predicted):
    """Returns the share of right tags, and of sentences without any wrong tag."""
    real = test_words != 0
    right = (predicted == test_tags) | ~real
    return right[real].mean(), right.all(axis=1).mean()


def broken(predicted):
    """Counts the `B` without a following `I`, and the `I` without a `B` before it."""
    begins, inside = predicted == 1, predicted == 2
    return ((begins[:, :-1] != inside[:, 1:]) & (test_words[:, 1:] != 0)).sum()


for name, predicted in (("softmax", alone), ("CRF", best_tags)):
    tokens, sentences = accuracy(predicted)
    print(f"{name:8} tags {tokens:.1%}  sentences {sentences:.1%}  broken entities {broken(predicted)}")

# %% tags=["remove-cell"]
assert accuracy(best_tags)[1] > 0.5 > accuracy(alone)[1] and broken(best_tags) == 0 < broken(alone)

# %% [markdown]
# **Look at** the last column. Each choice of the softmax is the best one for its word, but it cannot know where the entity began. The CRF
# sees the same single words; the rest is in its transitions.
#
# ## What the transitions say

# %%
transitions = keras.ops.convert_to_numpy(crf.transitions)
plt.figure(figsize=(3.4, 2.8))
plt.imshow(transitions, cmap="RdBu", vmin=-abs(transitions).max(), vmax=abs(transitions).max())
plt.xticks(range(3), TAGS)
plt.yticks(range(3), TAGS)
plt.xlabel("next tag")
plt.ylabel("tag")
plt.colorbar(label="score")
plt.show()

# %% [markdown]
# **Look at** the column `I`: only `B` leads there. In the row `B`, the other two moves have low scores, because every entity has two words. The
# model learned both rules from the data.
#
# If you know the rules, you can give them to the layer instead. `allowed_transitions` derives them from a tag scheme:

# %%
from keraszoo.text.tag_schemes import allowed_transitions

names = ["O", "B-X", "I-X"]
strict = CRF(num_tags=3, allowed=allowed_transitions(names, "IOB2"))
print(np.array(allowed_transitions(names, "IOB2")[0]))  # rows: from O, B-X, I-X

# %% [markdown]
# ## How sure is the model?
#
# `chain_marginals` gives the probability of each tag at each word, summed over all sequences that contain it.

# %%
marginals = keras.Model(inputs, crf.chain_marginals(chain)).predict(test_words[1:2], verbose=0)[0]
for word, tag, probabilities in zip(test_words[1], best_tags[1], marginals, strict=True):
    print(f"{word:3} {TAGS[tag]}", *(f"{name} {p:.2f}" for name, p in zip(TAGS, probabilities, strict=True)))

# %% [markdown]
# ## Exercises
#
# 1. Put a `Bidirectional(LSTM(16, return_sequences=True))` into `encode`. Does the softmax now know where entities begin? What is left for the
#    CRF?
# 2. Train with `CRF(num_tags=3, allowed=..., constrain="both")`. What do the learned transitions look like now?
# 3. For a sentence of three words, compute $\log Z(x) = \log \sum_{y'} \exp s(x, y')$ over all 27 tag sequences. Is $\log Z(x) - s(x, y)$ the loss?

# %%
import os

print(
    f"{accuracy(best_tags)[1]:.1%} of the sentences are right; this page took {sum(os.times()[:4]):.0f} CPU seconds"
)

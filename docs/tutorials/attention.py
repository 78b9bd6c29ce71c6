# %% [markdown]
# # Attention from scratch, and as a layer
#
# Attention is a weighted mean whose weights are computed. This tutorial starts with the oldest form, kernel regression, writes the additive
# attention of Bahdanau et al. (2015) in NumPy, compares it with the Keras layer, and trains a small model that needs it.

# %% tags=["remove-cell"]
# %matplotlib inline

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np

keras.utils.set_random_seed(1)

# %% [markdown]
# ## A weighted mean
#
# We have noisy examples $(x_i, y_i)$ of a curve and want its value at a new $x$. Nadaraya and Watson (1964) take a mean of all $y_i$, and
# examples near $x$ weigh more:
#
# $$
# f(x) = \sum_i \alpha_i\, y_i, \qquad \alpha_i = \frac{\exp\left(-(x - x_i)^2 / 2h^2\right)}{\sum_j \exp\left(-(x - x_j)^2 / 2h^2\right)}
# $$
#
# The weights $\alpha_i$ are a softmax of the **scores** $-(x - x_i)^2 / 2h^2$. In today's words, $x$ is a **query**, the $x_i$ are **keys**, and the
# $y_i$ are **values**.

# %%
rng = np.random.default_rng(1)
keys = np.sort(rng.uniform(0, 5, 50))
values = 2 * np.sin(keys) + keys**0.8 + rng.normal(0, 0.5, 50)
queries = np.linspace(0, 5, 200)


def softmax(scores):
    """Normalises the last axis to positive numbers that sum to 1."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


plt.figure(figsize=(7, 3.2))
plt.scatter(keys, values, s=12, color="0.5", label="examples")
for h in (0.05, 0.25, 1.5):
    weights = softmax(-((queries[:, None] - keys) ** 2) / (2 * h**2))  # (queries, keys)
    plt.plot(queries, weights @ values, label=f"h = {h}")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# **Look at** the bandwidth $h$. A small one follows every noisy example, a large one averages over everything. Here $h$ is the only
# parameter. In a neural network, the scores themselves are learned.
#
# ## Additive attention, in NumPy
#
# A decoder with state $s$ reads encoder states $h_1, \ldots, h_S$. Bahdanau et al. compute each score with a small network:
#
# $$
# e_j = v_a^\top \tanh(W_a s + U_a h_j), \qquad \alpha = \mathrm{softmax}(e), \qquad c = \sum_j \alpha_j h_j
# $$
#
# As a loop, this is a few lines:


# %%
def additive_attention(s, h, W_a, U_a, v_a):
    """Returns the context and the weights for one state `s` and encoder states `h`."""
    scores = np.array([v_a @ np.tanh(s @ W_a + h_j @ U_a) for h_j in h])
    weights = softmax(scores)
    return sum(weight * h_j for weight, h_j in zip(weights, h, strict=True)), weights


s, h = rng.normal(size=3), rng.normal(size=(5, 4))  # a state of width 3; five words of width 4
W_a, U_a, v_a = rng.normal(size=(3, 8)), rng.normal(size=(4, 8)), rng.normal(size=8)
context, weights = additive_attention(s, h, W_a, U_a, v_a)
print("weights", weights.round(3), "sum", weights.sum().round(3))
print("context", context.round(3))

# %% [markdown]
# ## The same as a layer
#
# `BahdanauAttention` computes this for batches. All attention layers here take `(query, value)` and return the context and the weights. We
# give the layer our matrices and compare.

# %%
from keraszoo.layers import BahdanauAttention

attention = BahdanauAttention(units=8)
attention.build(query_shape=(1, 3), value_shape=(1, 5, 4))
for layer, matrix in ((attention.W_q, W_a), (attention.W_k, U_a), (attention.v, v_a[:, None])):
    layer.kernel.assign(matrix)

layer_context, layer_weights = attention(s[None].astype("float32"), h[None].astype("float32"))
print("largest difference", np.abs(np.array(layer_weights)[0] - weights).max())

# %% tags=["remove-cell"]
assert np.allclose(layer_weights[0], weights, atol=1e-6) and np.allclose(layer_context[0], context, atol=1e-5)

# %% [markdown]
# Sentences in a batch have different lengths, so short ones are padded. A mask tells the layer which words are real. Padding gets the weight
# zero:

# %%
mask = np.array([[True, True, True, False, False]])
_, masked = attention(s[None].astype("float32"), h[None].astype("float32"), value_mask=mask)
print(np.array(masked)[0].round(3))

# %% [markdown]
# ## A model that needs attention
#
# The task: repeat a sequence of eight symbols backwards. Without attention, the encoder has to squeeze all symbols into one vector. With attention, the
# decoder can look at the symbol that it has to write next. This is a stock Keras model with one extra layer:

# %%
source, target_in = keras.Input((8,), dtype="int32"), keras.Input((8,), dtype="int32")
embed = keras.layers.Embedding(20, 32, mask_zero=True)
memory, *state = keras.layers.LSTM(64, return_sequences=True, return_state=True)(embed(source))
hidden = keras.layers.LSTM(64, return_sequences=True)(embed(target_in), initial_state=state)
context, attention_weights = BahdanauAttention(units=64)(hidden, memory)  # (B, T, 64), (B, T, S)
logits = keras.layers.Dense(20)(keras.layers.concatenate([hidden, context]))
model = keras.Model((source, target_in), logits)
model.compile(
    keras.optimizers.Adam(0.005),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

# %% [markdown]
# The decoder gets the right previous symbols during training (`target_in`, shifted by one): this is called teacher forcing.


# %%
def make_data(count):
    """Returns sources, shifted targets and targets."""
    x = rng.integers(2, 20, size=(count, 8))
    y = x[:, ::-1]
    return x, np.pad(y[:, :-1], ((0, 0), (1, 0)), constant_values=1), y


x, y_in, y = make_data(3000)
test_x, test_in, test_y = make_data(500)
history = model.fit((x, y_in), y, validation_data=((test_x, test_in), test_y), epochs=12, verbose=0)
plt.figure(figsize=(6, 2.6))
plt.plot(history.history["val_accuracy"])
plt.xlabel("epoch")
plt.ylabel("accuracy on new sequences")
plt.show()

# %% [markdown]
# Where does the decoder look? The attention weights are an output of the layer, so a second model that shares all layers returns them:

# %%
from keraszoo.plots import attention_heatmap

weights = keras.Model((source, target_in), attention_weights).predict((test_x[:1], test_in[:1]), verbose=0)[0]
attention_heatmap([str(i) for i in test_x[0]], [str(i) for i in test_y[0]], weights)

# %% [markdown]
# **Look at** the diagonal from the upper right to the lower left. Nobody told the model that the last symbol comes first: it learned the
# alignment from pairs alone. It may be shifted by a word, because an LSTM's state at a position knows its neighbours too.
#
# ## Exercises
#
# 1. Replace the context by zeros (`context * 0`) and train again. How much accuracy is lost after 12 epochs?
# 2. Replace `BahdanauAttention(units=64)` by `LuongAttention("general")` or `ScaledDotProductAttention()`. Which learns fastest?
# 3. Write scaled dot-product attention, $\mathrm{softmax}(QK^\top/\sqrt{d_k})V$, in NumPy, and compare it with the layer.

# %%
import os

accuracy = history.history["val_accuracy"][-1]
print(f"accuracy on new sequences: {accuracy:.3f}; this page took {sum(os.times()[:4]):.0f} CPU seconds")

# %% tags=["remove-cell"]
assert accuracy > 0.97

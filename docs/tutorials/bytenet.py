# %% [markdown]
# # ByteNet: translation without attention, in linear time
#
# ByteNet (Kalchbrenner et al. 2016) translates characters with convolutions only, without attention. It keeps one vector for each source
# character instead of one vector for the sentence, and its cost grows linearly with the length. We build a small one from layers of Keras,
# train it to translate numbers from English to German, and find out what it does not learn.

# %% tags=["remove-cell"]
# %matplotlib inline

# %% [markdown]
# ## Data
#
# Each sentence has a number between two invented names, and the German sentence has the same names. The numbers of the test sentences are not
# in the training data, and names are drawn at random.

# %%
import random

import keras
import numpy as np
from keras import layers, ops
from num2words import num2words

keras.utils.set_random_seed(1)
draw = random.Random(1)
held_out = set(draw.sample(range(21, 1000), 150))


def name():
    """Draws a name of one to three syllables."""
    syllables = [draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(draw.randint(1, 3))]
    return "".join(syllables).capitalize()


def sentence_pairs(count, numbers):
    """Draws pairs of sentences with numbers from a list."""
    for _ in range(count):
        first, number, last = name(), draw.choice(numbers), name()
        yield (
            f"{first}: {num2words(number)} for {last}",
            f"{first}: {num2words(number, lang='de')} für {last}",
        )


train = list(sentence_pairs(4_000, [n for n in range(1000) if n not in held_out]))
test = list(sentence_pairs(200, sorted(held_out)))
for source, target in train[:3]:
    print(f"{source}  =  {target}")

# %% [markdown]
# ## Dynamic unfolding
#
# The decoder is stacked on the encoder: to write character $t$, it reads column $t$ of the encoder. A target may be longer than its source, so
# the encoder computes
#
# $$
# \hat t = a\, |s| + b
# $$
#
# columns, with the source padded to $\hat t$. The decoder stops when it writes the end symbol, before or after column $|s|$. The paper uses
# $a = 1.2$ and $b = 0$. Here $a = 1$, and $b$ is the smallest number that fits the training data.

# %%
b = max(len(target) + 1 - len(source) for source, target in train)
longest = max(len(source) for source, _ in train + test) + b
characters = "\0\1\2" + "".join(sorted({c for pair in train for text in pair for c in text}))
print(f"b = {b}, at most {longest} columns, {len(characters)} characters")


def ids(texts):
    """Numbers of characters, int (B, columns); 0 is padding, 1 starts and 2 ends a target."""
    rows = np.zeros((len(texts), longest), "int32")
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = [characters.index(c) for c in text]
    return rows


# %% [markdown]
# ## The network
#
# A residual block narrows, looks at three columns that are $d$ apart, and widens again:
#
# $$
# x \leftarrow x + W_3\, \rho(\mathrm{conv}_d(\rho(W_1\, \rho(x)))), \qquad \rho(x) = \mathrm{ReLU}(\mathrm{LayerNorm}(x))
# $$
#
# The dilation $d$ doubles from block to block, so $l$ blocks see $1 + 2(2^l - 1)$ columns. Five blocks see 63 columns. The convolutions of the
# decoder are causal: they see only the characters that are already written.

# %%
WIDTH = 32


def block(x, dilation, padding):
    """A residual block with a dilated convolution, (B, T, 2 WIDTH)."""
    y = x
    for width, kernel in ((WIDTH, 1), (WIDTH, 3), (2 * WIDTH, 1)):
        y = layers.ReLU()(layers.LayerNormalization()(y))
        y = layers.Conv1D(width, kernel, padding=padding, dilation_rate=dilation if kernel > 1 else 1)(y)
    return x + y


source, target_in = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
embedded = columns = layers.Embedding(len(characters), 2 * WIDTH)(source)
for dilation in (1, 2, 4, 8, 16):
    columns = block(columns, dilation, "same")
x = columns + layers.Embedding(len(characters), 2 * WIDTH)(target_in)
for dilation in (1, 2, 4, 8):
    x = block(x, dilation, "causal")
x = layers.ReLU()(layers.LayerNormalization()(x))
logits = layers.Dense(len(characters))(x)
model = keras.Model((source, target_in), logits)
print(f"{model.count_params():,} parameters")

# %% [markdown]
# ## Training
#
# All characters of all sentences in a batch are predicted at once. The loss ignores padding (`ignore_class`).

# %%
EPOCHS, BATCH = 6, 64
sources, targets = map(list, zip(*train, strict=True))
schedule = keras.optimizers.schedules.CosineDecay(4e-3, EPOCHS * len(train) // BATCH)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
model.compile(keras.optimizers.Adam(schedule), loss)
inputs = ids(sources), ids([f"\1{target}" for target in targets])
history = model.fit(inputs, ids([f"{target}\2" for target in targets]), BATCH, EPOCHS, verbose=0)
print("loss by epoch:", *(round(value, 3) for value in history.history["loss"]))

# %% [markdown]
# ## What it gets right
#
# The search is greedy. To keep the code short, it runs the whole network for each character. A real program would keep the last columns of each
# layer, as [`ConvS2S`](../lineage.md#2017-convolutions-and-attention-in-every-layer) does.


# %%
def translate(texts):
    """Translates by greedy search."""
    read, written = ids(texts), np.zeros((len(texts), longest + 1), "int32")
    written[:, 0] = 1
    for t in range(longest):
        scores = ops.convert_to_numpy(model((read, written[:, :-1])))
        written[:, t + 1] = scores[:, t].argmax(axis=-1)
    return ["".join(characters[i] for i in row[1:]).split("\2")[0] for row in written]


sources, references = map(list, zip(*test, strict=True))
translations = translate(sources)


def parts(text):
    """Splits a German sentence into the first name, the number and the last name."""
    first, _, rest = text.partition(": ")
    number, _, last = rest.partition(" für ")
    return first, number, last


pairs = [(parts(ours), parts(right)) for ours, right in zip(translations, references, strict=True)]
right = {
    part: np.mean([ours[i] == theirs[i] for ours, theirs in pairs])
    for i, part in enumerate(("first names", "numbers", "last names"))
}
for part, share in right.items():
    print(f"{share:.1%} of the {part} are right")
for ours, theirs in list(zip(translations, references, strict=True))[:4]:
    print(f"{ours}  |  {theirs}")

# %% [markdown]
# **Look at** the names. The first name is in the same columns on both sides, so the decoder reads each letter in the column where it writes it.
# The last name is in different columns, because "seven hundred and thirty-five" is longer than "siebenhundertfünfunddreißig". The encoder has to
# move every letter to the column where it will be written, and the distance depends on the number. It learns this for the words of numbers,
# which it has seen thousands of times, but it does not learn to copy: most last names are wrong.
#
# Attention compares a query with every column, at any distance, so it can copy. [RNNsearch on number words](rnnsearch.py) shows where a model with
# attention looks.
#
# ## Where does it look?
#
# There are no attention weights to draw. The paper draws gradients instead: how much the score of the written character changes with each source
# character. Each row is a written character; its values are divided by the largest.

# %%
import tensorflow as tf

from keraszoo.plots import attention_heatmap

text, written = sources[0], translations[0]
rows = len(written)  # a copy of the sentence for each written character
rest = keras.Model((embedded, target_in), logits)
vectors = keras.Model(source, embedded)(ids([text] * rows))
with tf.GradientTape() as tape:
    tape.watch(vectors)
    scores = rest((vectors, tf.constant(ids([f"\1{written}"] * rows))))  # (rows, T, characters)
    chosen = tf.gather_nd(scores, np.stack([np.arange(rows)] * 2 + [ids([written])[0, :rows]], axis=1))
gradients = tape.gradient(chosen, vectors)[:, : len(text)]  # (rows, S, 2 WIDTH)
sizes = np.linalg.norm(gradients, axis=-1)
shares = sizes / sizes.max(axis=1, keepdims=True)
figure = attention_heatmap(list(text), list(written), shares, title=written)
figure.axes[-1].set_ylabel("gradient")
figure

# %% [markdown]
# **Look at** the diagonal. Each character depends most on the columns around its own: on few in the first name, on more in the number. The last
# name is written in other columns than those of the source, and depends little on the columns that contain it.
#
# ## Linear time
#
# Each column costs one multiplication for each weight of the convolutions, for any length of the text. A layer of self-attention compares each
# column with all others and sums them: 4 WIDTH multiplications for each pair of columns, in addition to those of its weights.

# %%
kernels = [
    weight for layer in model.layers if isinstance(layer, layers.Conv1D) for weight in layer.weights[:1]
]
weights = sum(int(np.prod(kernel.shape)) for kernel in kernels)
for length in (100, 1_000, 10_000):
    own = f"convolutions {length * weights / 1e6:6,.0f} million"
    print(f"{length:6,} characters: {own}, one self-attention {4 * WIDTH * length**2 / 1e6:6,.0f} million")

# %% [markdown]
# ## Exercises
#
# 1. Move the last name to the front, too. How many names are right?
# 2. Let the decoder attend: add `layers.Attention()([query, columns])` to `x`. How many epochs does it take until last names are
#    copied?
# 3. Remove the dilation. How many blocks does it take until numbers are right?

# %%
import os

print(
    f"{right['numbers']:.1%} of the numbers are right; this page took {sum(os.times()[:4]):.0f} CPU seconds"
)

# %% tags=["remove-cell"]
assert right["first names"] > 0.9 and right["numbers"] > 0.4 and right["last names"] < 0.4

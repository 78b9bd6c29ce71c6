# %% [markdown]
# # ByteNet: translation without attention, in linear time
#
# ByteNet (Kalchbrenner et al. 2016) translates characters with convolutions alone. It keeps one vector for each source character, so it does not
# squeeze a sentence into one vector, and it has no attention. Its work grows linearly with the length. We build a small one from layers of
# Keras, train it on numbers from English to German, and look for the price.

# %% tags=["remove-cell"]
# %matplotlib inline

# %% [markdown]
# ## Data
#
# Each sentence has a number between two invented names, and the German sentence has the same names. The numbers and the names of the test
# sentences are not in the training data.

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
# The decoder stands on top of the encoder: to write character $t$ it reads column $t$ of the encoder, whatever the source has there. A
# target may be longer than its source, so the encoder computes
#
# $$
# \hat t = a\, |s| + b
# $$
#
# columns, the source padded to $\hat t$. The decoder stops when it writes the end sign, which may be before or after $|s|$. In the paper $a = 1.2$
# and $b = 0$; here $a = 1$, and the data tell how large $b$ has to be.

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
# The dilation $d$ doubles from block to block. So $l$ blocks see $1 + 2(2^l - 1)$ columns: five blocks see 63, all of our
# sentences. The convolutions of the decoder are causal: they see only what is already written.

# %%
WIDTH = 32


def block(x, dilation, padding):
    """Returns x plus what a dilated convolution makes of it, (B, T, 2 WIDTH)."""
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
# No step waits for another: all characters of all sentences of a batch are predicted at once. Padding counts in no loss (`ignore_class`).

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
# The search is greedy. For brevity it runs the whole network for each character; a program would keep the last columns of each layer, as
# [`ConvS2S`](../lineage.md#2017-convolutions-and-attention-in-every-layer) does.


# %%
def translate(texts):
    """Writes the likeliest character, column by column."""
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
# **Look at** the names. The first one stands in the same columns on both sides, so the decoder finds each letter in the column that it reads. The
# last one stands at another place in each sentence, because "seven hundred and thirty-five" is longer than "siebenhundertfünfunddreißig". The
# encoder has to carry every letter to the column where it will be written, and that distance depends on the number. It learns to
# do so for the words of numbers, which it has seen thousands of times, but it does not learn to copy: most new names are lost.
#
# Attention removes the cost: it compares what is needed with what each column holds, at any distance. `python examples/number_words.py` trains
# models with attention on numbers, and [RNNsearch on number words](rnnsearch.py) shows where they look.
#
# ## Where does it look?
#
# There are no attention weights to draw. The paper draws gradients instead: how much the written character changes with each source
# character. A row is a written character, divided by its largest value.

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
# **Look at** the diagonal: each character depends most on the columns around its own, narrowly in the first name, more widely in the number. The last
# name does not begin in the columns where it is written, and hardly depends on the columns where it is.
#
# ## Linear time
#
# A column costs one multiplication for each weight of the convolutions, however long the text is. A layer of self-attention compares each
# column with all others and sums them: that is 4 WIDTH multiplications for each pair of columns, in addition to its own weights.

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
# 1. Put the last name in front, too. How many names are right?
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

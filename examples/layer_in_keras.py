"""Trains a stock Keras model with an attention layer of keraszoo: the model learns to reverse its input.

    python examples/layer_in_keras.py [attention.png]      # 15 seconds

An LSTM encoder and decoder, with Bahdanau's attention between them, in `compile` and `fit`. A second model
with the same layers returns the attention weights: the words of the source are read backward. With a path,
the weights are drawn. Every attention layer takes `(query, value, key=None, value_mask=...)` and returns the
context and the attention weights, so `LuongAttention` or `MultiHeadAttention` fit in the same line.
"""

import sys

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np

from keraszoo.layers import BahdanauAttention
from keraszoo.plots import attention_heatmap

WORDS, LENGTH, START = 20, 8, 1


def build():
    """Returns the model to train, and one of the same layers that returns the attention weights."""
    source, target_in = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    embed = keras.layers.Embedding(WORDS, 32, mask_zero=True)
    memory, *state = keras.layers.LSTM(64, return_sequences=True, return_state=True)(embed(source))
    hidden = keras.layers.LSTM(64, return_sequences=True)(embed(target_in), initial_state=state)
    context, attention_weights = BahdanauAttention(units=64)(hidden, memory)  # (B, T, 64), (B, T, S)
    logits = keras.layers.Dense(WORDS)(keras.layers.concatenate([hidden, context]))
    return keras.Model((source, target_in), logits), keras.Model((source, target_in), attention_weights)


def main(picture=None):
    """Trains, prints the accuracy and the source position that each target position reads."""
    keras.utils.set_random_seed(1)
    source = np.random.randint(2, WORDS, size=(2200, LENGTH))
    target = source[:, ::-1]
    target_in = np.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)

    model, attention = build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    model.fit((source[:2000], target_in[:2000]), target[:2000], epochs=15, verbose=0)
    _, accuracy = model.evaluate((source[2000:], target_in[2000:]), target[2000:], verbose=0)
    print(f"{accuracy:.1%} of the words of 200 new sequences are right")

    weights = attention.predict((source[2000:2001], target_in[2000:2001]), verbose=0)[0]
    print("source positions:", *weights.argmax(axis=-1))
    if picture:
        words = [str(word) for word in source[2000]]
        attention_heatmap(words, words[::-1], weights, picture)
    return accuracy, weights


if __name__ == "__main__":
    main(*sys.argv[1:2])

"""Trains the encoder of a tagger as a language model of free text, before it sees a tagged sentence.

    python experiments/free_text.py DATA runs/words              # the text
    python experiments/entities.py prepare DATA                  # the tagged corpora
    python experiments/language_model.py runs/general_encoder --text runs/words/general/articles2014.txt:2
    python experiments/crf_per_corpus.py --crfs each --start runs/general_encoder ...

The states of the BiLSTM that read a sentence from the left predict its next word, those from the right the
word before (Peters et al. 2017, https://arxiv.org/abs/1705.00108, section 2.3):

    loss = - mean_t log p(x_{t+1} | h->_t) - mean_t log p(x_{t-1} | h<-_t)
    p(x | h) ~ exp(e_x W h + b_x)

The words are those that have a vector, and the unknown word. In training, a right word is compared with
`NEGATIVES` others alone, drawn by how frequent words are (Jean et al. 2015, https://arxiv.org/abs/1412.2007):

    s(x) = e_x W h + b_x - log(NEGATIVES q(x))        - log p = log(exp s(x) + sum_drawn exp s) - s(x)
    q(x) = log(1 + 1 / x) / log V                     x: 1 for the unknown word, then words by their frequency

The tagger that is saved has the trained LSTMs, characters and casing, and untrained scores of tags.
"""

import argparse
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np
from consensus import file_and_step, read_sentences
from crf_per_corpus import GROUPS, SHAPES, compile_with_adam, new_tagger
from entity_corpora import read
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.models import RecurrentTagger
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.tag_batches import TagBatches, TaggedRows

NEGATIVES, LONGEST, WARMUP_STEPS, SAVE_STEPS = 2048, 80, 300, 1000
DROPOUT = {"dropout": 0.1, "word_dropout": 0.1}


class LanguageModel(RecurrentTagger):
    """A recurrent tagger whose states predict the words beside them."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        width = self.words.vectors.output_dim
        self.to_next = keras.layers.Dense(width, name="to_next")
        self.to_previous = keras.layers.Dense(width, name="to_previous")
        self.e = self.add_weight(name="e", shape=(self.vocabulary_size, width), initializer="zeros")
        self.b = self.add_weight(name="b", shape=(self.vocabulary_size,), initializer="zeros")
        self.drawn_seed = keras.random.SeedGenerator()

    def call(self, features, training=None):
        """W h for words 1 to T - 1 from the left and 0 to T - 2 from the right: `(2, B, T - 1, E)`."""
        x = self.input_dropout(self.words(features, training=training), training=training)
        h = self.recurrent(x, mask=self.mask(features), training=training)[0]
        forward, backward = ops.split(self.output_dropout(h, training=training), 2, axis=-1)
        return ops.stack([self.to_next(forward)[:, :-1], self.to_previous(backward)[:, 1:]])

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        words = ops.cast(x["words"], "int32")
        right = ops.stack([words[:, 1:], words[:, :-1]])
        real = ops.cast(words[:, 1:] != 0, "float32")  # a word with a word before it; (B, T - 1)
        log_size = float(np.log(self.vocabulary_size))
        drawn = ops.exp(log_size * keras.random.uniform((NEGATIVES,), seed=self.drawn_seed))
        drawn = ops.minimum(ops.cast(drawn, "int32"), self.vocabulary_size - 1)

        def offset(numbers):
            number = ops.maximum(ops.cast(numbers, "float32"), 1)
            return ops.take(self.b, numbers) - ops.log(NEGATIVES * ops.log(1 + 1 / number) / log_size)

        score = ops.sum(y_pred * ops.take(self.e, right, axis=0), axis=-1) + offset(right)
        others = ops.matmul(y_pred, ops.transpose(ops.take(self.e, drawn, axis=0))) + offset(drawn)
        others = ops.where(drawn == right[..., None], -1e9, others)  # (2, B, T - 1, NEGATIVES)
        surprise = ops.logaddexp(score, ops.logsumexp(others, axis=-1)) - score
        return ops.sum(real * surprise) / ops.maximum(ops.sum(real), 1)


def language_model(tagger):
    """A language model with the weights of a tagger's encoder, and the tagger's layers of the same names."""
    model = LanguageModel.from_config({**tagger.model.get_config(), **DROPOUT})
    model.build()
    model.head.chain.trainable = False
    encoder = [tagger.model.words, tagger.model.recurrent]
    for layer in encoder:
        model.get_layer(layer.name).set_weights(layer.get_weights())
    table = keras.ops.convert_to_numpy(tagger.model.words.vectors(np.arange(tagger.model.vocabulary_size)))
    model.e.assign(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-6))
    return model, encoder


class SaveEncoder(keras.callbacks.Callback):
    """Saves the tagger with the trained layers, every `SAVE_STEPS` updates and after the last of `steps`."""

    def __init__(self, tagger, encoder, steps, directory):
        super().__init__()
        self.tagger, self.encoder, self.steps, self.directory = tagger, encoder, steps, directory
        self.step, self.start = 0, time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        if self.step % SAVE_STEPS and self.step != self.steps:
            return
        for layer in self.encoder:  # on JAX, asking for `self.model` gives it its weights
            layer.set_weights(self.model.get_layer(layer.name).get_weights())
        self.tagger.save_to_preset(self.directory)
        seconds = time.perf_counter() - self.start
        print(f"step {self.step:,} of {self.steps:,}, loss {logs['loss']:.3f}, {seconds:.0f} s", flush=True)


def main():
    """Trains and saves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--text", type=file_and_step, action="append", required=True)
    parser.add_argument("--corpora", choices=GROUPS, default="english", help="tagged corpora")
    parser.add_argument("--data", type=Path, default=Path("runs/entities"))
    parser.add_argument("--vectors", help="instead of those that the included tagger has")
    parser.add_argument("--attention-heads", type=int, default=0, help="of the tagger; not trained here")
    parser.add_argument("--units", type=int, default=200, help="of the LSTM of each direction")
    parser.add_argument("--passes", type=int, default=1, help="over the text")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--learning-rate", type=float, default=0.002, help="the highest")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    group = GROUPS[options.corpora]
    options.tagged = [(options.data / file, 1) for file in group.train.values()]
    keras.utils.set_random_seed(options.seed)
    sentences = [sentence for file, _ in options.tagged for sentence in read(file)]
    vectors = WordVectors.read(options.vectors or group.vectors)
    tagger = new_tagger(sentences, vectors, options.attention_heads, options.units)
    model, encoder = language_model(tagger)
    found = read_sentences(options, tagger.vocabulary.token_rules)
    text = [words[i : i + LONGEST] for words in found for i in range(0, len(words), LONGEST)]
    print(f"{sum(map(len, text)):,} words in {len(text):,} sentences", flush=True)
    text = [TaggedSentence(words, ("O",) * len(words)) for words in text]
    rows = TaggedRows(text, tagger.vocabulary, model.features)
    batches = TagBatches(rows, options.batch_tokens, seed=options.seed, shapes=SHAPES)
    steps = options.passes * len(batches)
    compile_with_adam(model, steps, WARMUP_STEPS, options.learning_rate, clipnorm=1.0)
    save = SaveEncoder(tagger, encoder, steps, options.output)
    data, count = batches.for_fit(), len(batches)
    model.fit(data, steps_per_epoch=count, epochs=options.passes, shuffle=False, verbose=0, callbacks=[save])


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

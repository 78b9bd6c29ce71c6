"""Makes one tagger of the mean weights of several, and gives it vectors of more words. Nothing is trained.

    python experiments/mean_weights.py runs/english_sixth runs/english_seventh --vectors english_words \
        --words 90000 --output runs/english_entities
    python experiments/mean_weights.py runs/minilm_second runs/minilm_first --int8 --output TAGGER

The mean of the weights of two trainings that began with the same tagger, or of a training and its start, is
often better than either (Wortsman et al. 2022, https://arxiv.org/abs/2203.05482). A corpus that only the
first tagger has begins in the others as its second corpus does.

The vectors of the added words are turned to fit those of the tagger. All vectors are stored as int8: twice as
many in the space of half precision. With `--int8`, the matrices are.
"""

import argparse
import dataclasses
import sys

import keras
import numpy as np
from crf_per_corpus import continued
from keras import ops
from word_vectors import joined_vectors

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.word_vectors import WordVectors


def mean_tagger(names):
    """The first of some taggers, with the mean of their weights."""
    first = EntityTagger.from_preset(names[0], all_corpora=True)
    others = [continued(name, first.vocabulary.labels, first.corpora) for name in names[1:]]
    for name, other in zip(names[1:], others, strict=True):
        if other.vocabulary != first.vocabulary:
            raise KerasZooError(f"{name} has another vocabulary than {names[0]}")
    weights = zip(*(tagger.model.get_weights() for tagger in (first, *others)), strict=True)
    first.model.set_weights([np.mean(parts, axis=0, dtype="float64") for parts in weights])
    return first


def with_words(tagger, vectors):
    """A tagger that also knows the words of other vectors, with all vectors as int8."""
    model, vocabulary = tagger.model, tagger.vocabulary
    table = ops.convert_to_numpy(model.words.vectors(np.arange(model.vocabulary_size)))  # (V, D)
    special = table[: len(table) - len(vocabulary.words)]  # padding and the unknown word
    joined = joined_vectors(WordVectors(vocabulary.words, table[len(special) :]), vectors)
    sizes = {"vocabulary_size": len(special) + len(joined), "int8_vectors": True}
    larger = type(model).from_config({**model.get_config(), **sizes})
    larger.build()
    for weight, old in zip(other_weights(larger), other_weights(model), strict=True):
        weight.assign(old)
    larger.words.set_vectors(np.concatenate([special, joined.matrix]))
    made = EntityTagger(larger, dataclasses.replace(vocabulary, words=joined.words), tagger.corpora)
    made.about, made.recipe, made.metrics = dict(tagger.about), tagger.recipe, tagger.metrics
    return made


def other_weights(model):
    """All weights but the vectors."""
    vectors = {id(weight) for weight in model.words.vectors.weights}
    return [weight for weight in model.weights if id(weight) not in vectors]


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taggers", nargs="+", help="taggers that were trained from the same one")
    parser.add_argument("--vectors", help="directory or name of word vectors")
    parser.add_argument("--words", type=int, help="of the vectors, the most frequent ones; all by default")
    parser.add_argument("--int8", action="store_true", help="store the matrices as int8")
    parser.add_argument("--output", required=True, help="directory to write")
    options = parser.parse_args()
    tagger = mean_tagger(options.taggers)
    tagger.metrics = {name: facts for name, facts in tagger.metrics.items() if name == "training"}
    if options.vectors:
        tagger = with_words(tagger, WordVectors.read(options.vectors).first(options.words))
    if options.int8:
        weights = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
        tagger.model.quantize(config=weights)
    tagger.save_to_preset(options.output, dtype=None if options.int8 else "float16")
    print(f"{options.output}: {tagger.model.count_params():,} weights")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        sys.exit(f"mean_weights.py: {error}")

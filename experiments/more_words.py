"""Makes one tagger of the mean weights of several, and gives it vectors of more words. Nothing is trained.

    python experiments/more_words.py runs/english_sixth runs/english_seventh --vectors english_words \
        --words 90000 --output runs/english_entities

The mean of the weights of two trainings that began with the same tagger is often better than either
(Wortsman et al. 2022, https://arxiv.org/abs/2203.05482). The vectors of the added words are turned to fit
those of the tagger. All vectors are stored as int8: twice as many in the space of half precision.
"""

import argparse
import dataclasses
import sys

import numpy as np
from keras import ops
from word_vectors import joined_vectors

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.text.word_vectors import WordVectors


def mean_tagger(names):
    """The first of some taggers of the same vocabulary, with the mean of their weights."""
    first, *others = (EntityTagger.from_preset(name, all_corpora=True) for name in names)
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
    made.about, made.recipe = dict(tagger.about), tagger.recipe
    made.metrics = {name: facts for name, facts in tagger.metrics.items() if name == "training"}
    return made


def other_weights(model):
    """All weights but the vectors."""
    vectors = {id(weight) for weight in model.words.vectors.weights}
    return [weight for weight in model.weights if id(weight) not in vectors]


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taggers", nargs="+", help="taggers that were trained from the same one")
    parser.add_argument("--vectors", required=True, help="directory or name of word vectors")
    parser.add_argument("--words", type=int, help="of the vectors, the most frequent ones; all by default")
    parser.add_argument("--output", required=True, help="directory to write")
    options = parser.parse_args()
    vectors = WordVectors.read(options.vectors)
    tagger = with_words(mean_tagger(options.taggers), vectors.first(options.words))
    tagger.save_to_preset(options.output, dtype="float16")
    print(f"{options.output}: vectors of {len(tagger.vocabulary.words):,} words")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        sys.exit(f"more_words.py: {error}")

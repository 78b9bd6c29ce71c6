"""Makes one tagger of the mean weights of several, and gives it vectors of more words. Nothing is trained.

    python examples/more_words.py runs/english_sixth runs/english_seventh --vectors english_words \
        --words 90000 --output runs/english_entities

The mean of the weights of two trainings that began with the same tagger is often better than either
(Wortsman et al. 2022, https://arxiv.org/abs/2203.05482). `EntityTagger.with_words` adds words and stores all
vectors as int8: twice as many in the space of half precision.
"""

import argparse
import sys

import numpy as np

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


def main():
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taggers", nargs="+", help="taggers that were trained from the same one")
    parser.add_argument("--vectors", required=True, help="directory or name of word vectors")
    parser.add_argument("--words", type=int, help="of the vectors, the most frequent ones; all by default")
    parser.add_argument("--output", required=True, help="directory to write")
    options = parser.parse_args()
    vectors = WordVectors.read(options.vectors)
    tagger = mean_tagger(options.taggers).with_words(vectors.first(options.words), int8_vectors=True)
    tagger.save_to_preset(options.output, dtype="float16")
    print(f"{options.output}: vectors of {len(tagger.vocabulary.words):,} words")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        sys.exit(f"more_words.py: {error}")

"""Gives a trained tagger vectors of more words."""

import dataclasses

import numpy as np
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.text.word_vectors import WordVectors


def with_words(tagger, vectors, int8_vectors):
    """See `EntityTagger.with_words`."""
    model, vocabulary = tagger.model, tagger.vocabulary
    table = ops.convert_to_numpy(model.words.vectors(np.arange(model.vocabulary_size)))  # (V, D)
    special = table[: len(table) - len(vocabulary.words)]  # padding and the unknown word
    all_vectors = WordVectors(vocabulary.words, table[len(special) :]).with_words(vectors)
    changes = {"vocabulary_size": len(special) + len(all_vectors)}
    if int8_vectors is not None:
        changes["int8_vectors"] = int8_vectors
    try:
        larger = type(model).from_config({**model.get_config(), **changes})
    except ValueError as error:  # vectors that are trained
        raise KerasZooError(str(error)) from error
    larger.build()
    for weight, old in zip(_other_weights(larger), _other_weights(model), strict=True):
        weight.assign(old)
    larger.words.set_vectors(np.concatenate([special, all_vectors.matrix]))
    vocabulary = dataclasses.replace(vocabulary, words=all_vectors.words)
    made = type(tagger)(larger, vocabulary, tagger.corpora)
    made.about, made.recipe = dict(tagger.about), tagger.recipe
    made.metrics = {name: facts for name, facts in tagger.metrics.items() if name == "training"}
    return made


def _other_weights(model):
    """All weights but the vectors."""
    vectors = {id(weight) for weight in model.words.vectors.weights}
    return [weight for weight in model.weights if id(weight) not in vectors]

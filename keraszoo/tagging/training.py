"""Training data of a tagger: sentences, held-out sentences, and digests of both."""

import dataclasses

import keras

from keraszoo.errors import DataError
from keraszoo.tasks.training import digest
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.held_out import HeldOutSentences, batches_of
from keraszoo.training.tag_batches import TagBatches, TaggedRows


def digests(tagger, train, validation):
    """The digests of everything that enters a run: sentences, the vocabulary, and weights like word vectors.

    Args:
        tagger: an `EntityTagger`.
        train, validation: lists of `TaggedSentence`; `validation` may be None.
    """
    vocabulary = dataclasses.asdict(tagger.vocabulary).values()
    frozen = map(keras.ops.convert_to_numpy, tagger.model.non_trainable_weights)
    return {
        "train": _of_sentences(train),
        "validation": None if validation is None else _of_sentences(validation),
        "vocabulary": digest(part for entry in vocabulary for part in _parts(entry)),
        "frozen_weights": digest(frozen),
    }


def _of_sentences(sentences):
    return digest(part for s in sentences for row in (s.tokens, s.tags) for part in _parts(tuple(row)))


def _parts(entry):
    """An entry as strings: a tuple with its length before its items."""
    return [str(len(entry)), *entry] if isinstance(entry, tuple) else [str(entry)]


def make_held_out(tagger, validation, settings):
    """Makes the `HeldOutSentences` of a list of `TaggedSentence`."""
    if not validation:
        raise DataError("validation: expected at least one sentence, got none")
    rows = TaggedRows(validation, tagger.vocabulary, tagger.model.features)
    batches = TagBatches(rows, **batches_of(settings, int(rows.lengths.max())))
    return HeldOutSentences(validation, batches, tagger.vocabulary)


def sentences_of(corpus, name="sentences"):
    """The sentences of a `TaggedCorpus` or of a list of `TaggedSentence`, as a list; None for None.

    Raises:
        DataError: for the first item that is not a `TaggedSentence`; the message names the argument.
    """
    if corpus is None:
        return None
    sentences = list(getattr(corpus, "sentences", corpus))
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, TaggedSentence):
            raise DataError(
                f"{name}: expected TaggedSentence objects, got {sentence!r:.60} as item {i}; make them with "
                "TaggedSentence(tokens, tags) of keraszoo.text.tagged_corpus"
            )
    return sentences

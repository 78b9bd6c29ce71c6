"""Training data of a tagger: batches, held-out sentences, and a digest of both."""

import hashlib

import keras
import numpy as np

from keraszoo.errors import DataError
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.held_out import HeldOutSentences, batches_of
from keraszoo.training.tag_batches import TagBatches, TaggedRows


def make_data(tagger, train, validation, run):
    """`TagBatches`, `HeldOutSentences` or None, and the SHA-256 of data and words, of the arguments of `fit`.

    Raises:
        DataError: no sentence, something other than sentences, or a tag that the tagger does not have.
    """
    settings, held_out = run.settings, None
    train, validation = sentences_of(train, "train"), sentences_of(validation, "validation")
    rows = TaggedRows(train, tagger.vocabulary, tagger.model.features)
    cut = {"replicas": run.rows_multiple, "shapes": run.shapes}
    batches = TagBatches(rows, settings.batch_tokens, seed=settings.seed, **cut)
    if validation is not None:
        held_out = make_held_out(tagger, validation, settings)
    digest = hashlib.sha256("\0".join(tagger.vocabulary.words).encode("utf-8", "surrogatepass"))
    for weight in tagger.model.vectors.non_trainable_weights:  # those that were given
        digest.update(np.ascontiguousarray(keras.ops.convert_to_numpy(weight)))
    for sentences in (train, validation):
        for sentence in sentences or ():
            digest.update("\0".join((*sentence.tokens, *sentence.tags, "")).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return batches, held_out, digest.hexdigest()


def make_held_out(tagger, validation, settings):
    """Makes the callback that evaluates held-out sentences, a list of `TaggedSentence`."""
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

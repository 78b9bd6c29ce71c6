"""Training data of a tagger: sentences, held-out sentences, and digests of both."""

import dataclasses
import functools

import keras

from keraszoo.compiling import compiled
from keraszoo.errors import DataError
from keraszoo.evaluation.tagging import strict_score
from keraszoo.tasks.training import digest
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.training.addressed_batches import held_out_options
from keraszoo.training.tag_batches import TagBatches, TaggedRows


def digests(tagger, train, validation):
    """The digests of everything that enters a run: sentences, the vocabulary, and frozen weights."""
    vocabulary = tagger.vocabulary
    entries = [getattr(vocabulary, field.name) for field in dataclasses.fields(vocabulary)]
    entries = [entry for entry in entries if entry is not None]
    frozen = map(keras.ops.convert_to_numpy, tagger.model.non_trainable_weights)
    return {
        "train": _of_sentences(train),
        "validation": None if validation is None else _of_sentences(validation),
        "vocabulary": digest(part for entry in entries for part in _parts(entry)),
        "frozen_weights": digest(frozen),
    }


def _of_sentences(sentences):
    return digest(part for s in sentences for row in (s.tokens, s.tags) for part in _parts(tuple(row)))


def _parts(entry):
    """An entry as strings: a tuple with its length before its items."""
    return [str(len(entry)), *entry] if isinstance(entry, tuple) else [str(entry)]


def held_out_figures(tagger, sentences, settings):
    """Makes the function of a model that returns the figures of held-out sentences, for `train`.

    `val_loss` is the model's own in nats a token; `val_f1`, `val_precision` and `val_recall` are seqeval's
    strict IOB2 scores of entities. Each sentence goes through the model once.
    """
    if not sentences:
        raise DataError("validation: expected at least one sentence, got none")
    gold, vocabulary = [sentence.tags for sentence in sentences], tagger.vocabulary
    rows = TaggedRows(sentences, vocabulary, tagger.model.features)
    batches = TagBatches(rows, **held_out_options(settings, rows.longest))

    @functools.cache
    def function_of(model):
        def loss_and_tags(features, tags, sample_weight):
            scores = model(features, training=False)
            loss = model.compute_loss(features, tags, scores, sample_weight, training=False)
            return loss, model.head.decode(scores, model.mask(features))

        return compiled(loss_and_tags, model)

    def figures(model):
        predicted, total = [()] * len(gold), 0.0
        for i in range(len(batches)):
            loss, tags = function_of(model)(*batches.batch(0, i))
            total += float(loss) * batches.real_tokens(0, i)
            indices = batches.indices(0, i)
            found = keras.ops.convert_to_numpy(tags)[: len(indices)]
            named = vocabulary.decode_tags(found, [len(gold[j]) for j in indices])
            for j, names in zip(indices, named, strict=True):
                predicted[j] = names  # unrepaired: in IOB2, invalid tags count as wrong
        f1 = strict_score(gold, predicted, vocabulary.scheme)
        scores = {"val_f1": f1.score, "val_precision": f1.precision, "val_recall": f1.recall}
        return {"val_loss": total / int(rows.lengths.sum()), **scores}

    return figures


def sentences_of(corpus, name="sentences"):
    """The sentences of a `TaggedCorpus` or of a list of `TaggedSentence`, as a list; None for None.

    Raises DataError, which names the argument, for the first item that is not a `TaggedSentence`.
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

"""Training data of a translator: a corpus, held-out pairs, and digests of both."""

import contextlib
import functools
import math

import keras
from keras import ops

from keraszoo.compiling import compiled
from keraszoo.errors import DataError
from keraszoo.evaluation.tokenizers import choose_tokenizer
from keraszoo.evaluation.translation import cased_bleu
from keraszoo.messages import say
from keraszoo.tasks.training import digest
from keraszoo.text.corpus import ParallelCorpus, SpecialIds
from keraszoo.text.lines import located
from keraszoo.training.addressed_batches import held_out_options
from keraszoo.training.token_batches import TokenBatches

LARGEST = 700  # nats; the exponential of more is no float


def training_corpus(translator, train):
    """The `ParallelCorpus` of an argument of `fit`: that itself, or an iterable of (source, target) strings.

    Raises:
        DataError: no pair, something other than pairs, or ids that are not those of the vocabularies.
    """
    corpus = train
    if isinstance(train, ParallelCorpus):
        _check_ids(corpus, translator)
    else:
        corpus = make_corpus(translator, train)
    for side, rows in (("source", corpus.sources), ("target", corpus.targets)):
        name = f"{side}_subwords"
        setattr(translator, name, getattr(translator, name).with_signs_of(rows.ids))
    return corpus


@contextlib.contextmanager
def training_data(translator, train, validation):
    """The `training_corpus` and the list of held-out pairs, or None, of the arguments of `fit`.

    If the block ends by an exception, the translator gets its vocabularies back, with the signs that are rare
    in the corpus, so that the same call reads the same ids again.
    """
    names = "source_subwords", "target_subwords"
    before = [getattr(translator, name) for name in names]
    try:
        corpus = training_corpus(translator, train)
        yield corpus, None if validation is None else list(pairs_of(validation, "validation"))
    except BaseException:
        for name, subwords in zip(names, before, strict=True):
            setattr(translator, name, subwords)
        raise


def digests(translator, corpus, pairs):
    """The digests of everything that enters a run: training data, held-out pairs and vocabularies."""
    rows = [array for side in (corpus.sources, corpus.targets) for array in (side.ids, side.offsets)]
    return {
        "train": digest(rows),
        "validation": None if pairs is None else digest(side for pair in pairs for side in pair),
        "subwords": digest([translator.source_subwords.model_bytes, translator.target_subwords.model_bytes]),
        "max_source_tokens": translator.max_source_tokens,
        "search": None if pairs is None else translator.search.as_dict(),  # for BLEU
    }


def held_out_figures(translator, pairs, settings):
    """Makes the function of a model that returns the figures of held-out pairs, for `train`.

    `val_loss` (nats a token, without label smoothing), `val_perplexity` and `val_token_accuracy` come from
    teacher forcing. `val_bleu`, sacrebleu's on text, comes from a search, if it is the figure to monitor.
    """
    if not pairs:
        raise DataError("validation: expected at least one pair, got none")
    sources, references = map(list, zip(*pairs, strict=True))
    with located("validation"):
        corpus = make_corpus(translator, pairs, translator.max_source_tokens)
    if corpus.dropped["too_long"]:
        longest = f"more than {translator.max_source_tokens:,} subwords"
        say(f"validation: {corpus.dropped['too_long']:,} pairs of {longest} count for BLEU, not for val_loss")
    longest = 1 + int(max(corpus.sources.lengths.max(), corpus.targets.lengths.max()))
    batches = TokenBatches(corpus, **held_out_options(settings, longest))
    searches = settings.monitor == "val_bleu"
    tokenizer = choose_tokenizer(references, settings.bleu_tokenizer) if searches else None

    @functools.cache
    def forward_of(model):
        def logits(source, target_in):
            return model((source, target_in), training=False)

        return compiled(logits, model, lambda tf: [tf.TensorSpec([None, None], "int32")] * 2)

    def figures(model):
        loss = keras.metrics.SparseCategoricalCrossentropy(from_logits=True)
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        for i in range(len(batches)):
            inputs, target_out, weight = batches.batch(0, i)
            logits = ops.cast(forward_of(model)(*inputs), "float32")
            for metric in (loss, accuracy):
                metric.update_state(target_out, logits, (weight > 0).astype("float32"))
        mean = float(loss.result())
        found = {"val_loss": mean, "val_perplexity": math.exp(min(mean, LARGEST))}
        found["val_token_accuracy"] = float(accuracy.result())
        if searches:
            found["val_bleu"] = cased_bleu(translator.translate(sources), references, tokenizer)
        return found

    return figures


def make_corpus(translator, pairs, max_length=None):
    """Encodes (source, target) strings with the translator's vocabularies as a `ParallelCorpus`."""
    sides = translator.source_subwords, translator.target_subwords
    return ParallelCorpus.from_pairs(pairs_of(pairs, "train"), *sides, max_length=max_length)


def _check_ids(corpus, translator):
    """Raises DataError if the ids of a `ParallelCorpus` are not those of the translator's vocabularies."""
    sides = (
        ("source", corpus.sources, corpus.source_special, translator.source_subwords),
        ("target", corpus.targets, corpus.target_special, translator.target_subwords),
    )
    for name, rows, special, subwords in sides:
        expected = SpecialIds.of(subwords)
        if special != expected:
            raise DataError(f"train: expected {name}s with {expected}, as in the vocabulary, got {special}")
        largest = int(rows.ids.max(initial=0))
        if largest >= subwords.vocabulary_size:
            raise DataError(
                f"train: expected {name} ids below {subwords.vocabulary_size}, the vocabulary, got {largest}"
            )


def pairs_of(pairs, name):
    """Yields the (source, target) strings of an argument of `fit`; any other item is a DataError."""
    for i, pair in enumerate(pairs):
        listed = hasattr(pair, "__getitem__") and not isinstance(pair, (str, dict))
        if not listed or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise DataError(
                f"{name}: expected pairs (source, target) of str, got {pair!r:.60} as item {i}; two lists of "
                "sentences become pairs by list(zip(sources, targets))"
            )
        yield pair

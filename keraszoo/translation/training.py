"""Training data of a translator: a corpus, held-out pairs, and digests of both."""

from keraszoo.errors import DataError
from keraszoo.evaluation.tokenizers import choose_tokenizer
from keraszoo.messages import say
from keraszoo.tasks.training import digest
from keraszoo.text.corpus import ParallelCorpus, SpecialIds
from keraszoo.text.lines import located
from keraszoo.training.held_out import HeldOutPairs, batches_of
from keraszoo.training.token_batches import TokenBatches


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


def held_out_pairs(validation):
    """The pairs of an argument of `fit`, as a list; None for None."""
    return None if validation is None else list(pairs_of(validation, "validation"))


def digests(translator, corpus, pairs):
    """The digests of everything that enters a run: training data, held-out pairs and vocabularies."""
    rows = [array for side in (corpus.sources, corpus.targets) for array in (side.ids, side.offsets)]
    return {
        "train": digest(rows),
        "validation": None if pairs is None else digest(side for pair in pairs for side in pair),
        "subwords": digest([translator.source_subwords.model_bytes, translator.target_subwords.model_bytes]),
    }


def make_held_out(translator, validation, settings):
    """Makes the `HeldOutPairs` of a list of (source, target) strings."""
    if not validation:
        raise DataError("validation: expected at least one pair, got none")
    sources, references = map(list, zip(*validation, strict=True))
    with located("validation"):
        corpus = make_corpus(translator, validation, translator.max_source_tokens)
    if corpus.dropped["too_long"]:
        longest = f"more than {translator.max_source_tokens:,} subwords"
        say(f"validation: {corpus.dropped['too_long']:,} pairs of {longest} count for BLEU, not for val_loss")
    longest = 1 + int(max(corpus.sources.lengths.max(), corpus.targets.lengths.max()))
    batches = TokenBatches(corpus, **batches_of(settings, longest))
    if settings.monitor != "val_bleu":
        return HeldOutPairs(None, sources, references, batches)
    tokenizer = choose_tokenizer(references, settings.bleu_tokenizer)
    return HeldOutPairs(translator.translate, sources, references, batches, tokenizer)


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
    """Yields the (source, target) strings of an argument of `fit`.

    Raises:
        DataError: for the first item that is not such a pair; the message names the argument.
    """
    for i, pair in enumerate(pairs):
        listed = hasattr(pair, "__getitem__") and not isinstance(pair, (str, dict))
        if not listed or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise DataError(
                f"{name}: expected pairs (source, target) of str, got {pair!r:.60} as item {i}; two lists of "
                "sentences become pairs by list(zip(sources, targets))"
            )
        yield pair

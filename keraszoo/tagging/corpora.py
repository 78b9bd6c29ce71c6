"""Taggers of several corpora, each with labels of its own over a shared encoder."""

from keraszoo.errors import KerasZooError
from keraszoo.models.trained_scores import with_tags
from keraszoo.saving.weights import without_lora
from keraszoo.tagging.directory import MOST_CORPORA


def checked_corpora(vocabulary, corpora):
    """Returns the names of corpora as a tuple. Raises KerasZooError: too many, or one without labels."""
    corpora = (corpora,) if isinstance(corpora, str) else tuple(corpora)
    if len(corpora) > MOST_CORPORA:
        raise KerasZooError(f"expected at most {MOST_CORPORA} corpora")
    for corpus in corpora:
        vocabulary.labels_of(corpus)  # an error if there are none
    return corpora


def part_of(tagger, corpus):
    """A model with copies of the weights for one corpus, its vocabulary, and its tags' numbers in the tagger.

    Raises KerasZooError: no such corpus.
    """
    if corpus not in tagger.corpora:
        known = ", ".join(tagger.corpora) or "none; from_preset(name, corpus=...) chooses one"
        raise KerasZooError(f"the tagger has no corpus {corpus!r}; it has: {known}")
    vocabulary, own = tagger.vocabulary.for_corpus(corpus)
    return with_tags(without_lora(tagger.model), own, vocabulary.transitions()), vocabulary, own

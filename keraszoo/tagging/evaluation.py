"""Scores of a tagger on sentences with tags."""

from keraszoo.evaluation.tagging import check_gold, known_entities, score_tags
from keraszoo.tagging.training import sentences_of
from keraszoo.text.tag_choice import check_choice
from keraszoo.text.tagged_corpus import TaggedCorpus


def evaluate(tagger, sentences, known, batch_tokens, context, labels, mapping):
    """Tags sentences and compares the result with their tags; see `EntityTagger.evaluate`."""
    sentences = sentences_of(sentences)
    tokens = [list(sentence.tokens) for sentence in sentences]
    gold = [sentence.tags for sentence in sentences]
    check_gold(gold, tokens)
    vocabulary = tagger.vocabulary
    there = {*vocabulary.labels, *TaggedCorpus(sentences).labels}
    labels, mapping = check_choice(there, labels, mapping)
    predicted = [[] for _ in tokens]
    documents = [sentence.document for sentence in sentences]
    for i, tags, *_ in tagger.sentence_tagger.tagged(tokens, batch_tokens, context, documents):
        predicted[i] = tags  # unchanged: invalid tags are counted, not repaired
    known = None if known is None else known_entities(sentences_of(known))
    return score_tags(gold, predicted, tokens, known, vocabulary.scheme, labels, mapping)

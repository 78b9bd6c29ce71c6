"""The tab Tag."""

import bisect

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.tagging.lines import as_columns, json_line, json_line_with_attention

SHOWN, LEAST = 4, 0.001  # tags of a word, and the least probability of one


def tag(request, models, progress):
    """Tags a text; returns its words with tags and probabilities, its entities and what can be downloaded.

    Words come with the text before them, because JavaScript counts characters in another way.
    """
    tagger = models.get(request.model, "tagging", progress)
    progress("tagging")
    (tagged,) = tagger.tag_details([request.text])
    if not tagged.tokens:
        raise KerasZooError("text: expected at least one word, got none")
    progress("computing the probabilities of all tags")
    words = [[token.text for token in tagged.tokens[first:last]] for first, last in tagged.sentences]
    probabilities = np.concatenate(tagger.tag_probabilities(words))
    ends = [0, *(token.end for token in tagged.tokens)]
    attention = tagged.attention_weights
    write = json_line if attention is None else json_line_with_attention
    return {
        "words": [
            {"before": tagged.text[end : token.start], "text": token.text, "tags": _likeliest(tagger, row)}
            for end, token, row in zip(ends, tagged.tokens, probabilities, strict=False)
        ],
        "after": tagged.text[ends[-1] :],
        "attention": None if attention is None else np.round(attention.astype("float64"), 5).tolist(),
        "sentences": tagged.sentences,
        "entities": [
            {
                "first": bisect.bisect_right(ends, entity.start) - 1,
                "last": bisect.bisect_left(ends, entity.end) - 1,
                "label": entity.label,
                "probability": entity.probability,
            }
            for entity in tagged.entities
        ],
        "labels": list(tagger.vocabulary.labels),
        "json": write(tagged, {"text": tagged.text})[0],
        "columns": "\n".join(as_columns(tagged)),
    }


def _likeliest(tagger, probabilities):
    """The likeliest tags of a word: a list of `[tag, probability]`."""
    best = np.argsort(-probabilities)[:SHOWN]
    names = tagger.vocabulary.tags
    return [[names[k], round(float(probabilities[k]), 4)] for k in best if probabilities[k] >= LEAST]

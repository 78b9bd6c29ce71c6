"""Finds the sentences that a tagger is least sure of, for people to correct."""

import itertools

from keraszoo.errors import check_at_least

CHUNK = 256  # texts tagged at a time


def uncertain(tagger, texts, most=None):
    """Ranks the sentences of texts by the tagger's least certain word, the least certain sentence first.

        u(x) = min_t p(y_t | x)        y the tags that the tagger chooses, p its probabilities or marginals

    The word may be inside of an entity or not: an entity that was nearly found counts as one that was nearly
    missed. A sentence that occurs twice comes once.

    Args:
        tagger: an `EntityTagger`.
        texts: iterable of str.
        most: how many sentences are returned; `None`: all.

    Returns:
        List of dicts as annotation tools and `keraszoo.text.json_spans` read them: `text`, the sentence;
        `spans`, its entities, each with `start`, `end` and `label`; `meta`, with the `probability` u(x) and
        the number of the text as `line`, from 1.

    Raises:
        KerasZooError: `most` is below 1, or a text is not a str or too long.

    Example:

    >>> from keraszoo import EntityTagger
    >>> tagger = EntityTagger.from_preset("english_entities")
    >>> uncertain(tagger, ["Ada Lovelace lived in London. It rained."], most=1)[0].keys()
    dict_keys(['text', 'spans', 'meta'])

    Reference: Marcheggiani and Artières 2014, minimum token probability, https://aclanthology.org/D14-1097.
    """
    check_at_least(most=(1 if most is None else most, 1))
    numbered, found = enumerate(texts, start=1), {}
    while some := list(itertools.islice(numbered, CHUNK)):
        for (number, _), tagged in zip(some, tagger.tag_details([text for _, text in some]), strict=True):
            for first, last in tagged.sentences:
                start, end = tagged.tokens[first].start, tagged.tokens[last - 1].end
                spans = [
                    {"start": entity.start - start, "end": entity.end - start, "label": entity.label}
                    for entity in tagged.entities
                    if start <= entity.start < end
                ]
                probability = round(float(tagged.probabilities[first:last].min()), 4)
                record = {"text": tagged.text[start:end], "spans": spans}
                record["meta"] = {"probability": probability, "line": number}
                found.setdefault(record["text"], record)
    return sorted(found.values(), key=lambda record: record["meta"]["probability"])[:most]

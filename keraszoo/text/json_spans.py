"""Texts with entities, or sentences of tokens with tags, as JSON lines.

    {"text": "Ed Koch was mayor.", "entities": [{"start": 0, "end": 7, "label": "PER"}]}
    {"tokens": ["Ed", "Koch"], "ner_tags": ["B-PER", "I-PER"]}        data sets of Hugging Face

Each line is a document. `start` and `end` (exclusive) count characters (code points). The forms of doccano,
Prodigy and spaCy are read, too:

    {"text": "...", "label": [[0, 7, "PER"]]}
    {"text": "...", "spans": [{"start": 0, "end": 7, "label": "PER"}], "answer": "accept"}
    ["...", {"entities": [[0, 7, "PER"]]}]
"""

import bisect
import dataclasses
import itertools
import json

from keraszoo.errors import DataError
from keraszoo.messages import shown
from keraszoo.text.columns import as_iob2
from keraszoo.text.lines import located, read_lines
from keraszoo.text.tag_schemes import Span, tags_of
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence
from keraszoo.text.tokens import LONGEST_SENTENCE, split_sentences, tokenize

ENTITIES = ("entities", "spans", "label", "labels")  # the key of the entities of a text; the first counts
TAGS = ("ner_tags", "tags")


def is_json_lines(path):
    """Returns whether the name of a file ends in `.jsonl` or `.jsonl.gz`."""
    return str(path).removesuffix(".gz").endswith(".jsonl")


def read_spans(path, rules="words"):
    r"""Reads texts with entities, one JSON object per line, as sentences of tokens with tags.

    An entity that begins or ends inside a token is widened to whole tokens and counted as moved. If no token
    is left for the next entity, that one is dropped and counted. A sentence never ends inside an entity.
    One of more than `LONGEST_SENTENCE` tokens is cut, as by `sentence_tokens`. Blank lines and unknown keys
    are ignored; but if an entity has a `text`, it must equal that part of the text. A text whose `answer` is
    not `accept`, of Prodigy, is skipped and counted. Tags of tokens are read as by `read_columns`. `rules` is
    a key of `TOKEN_RULES`: how text becomes tokens.

    Returns:
        A `TaggedCorpus`; each text is a document. A blank text has no sentence.

    Raises:
        DataError: with file and line: a line that is not such an object; an entity that is empty, out of
            range, or overlaps another one; a label that is blank or contains blanks; a file without texts.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "train.jsonl")
    >>> _ = file.write_text('{"text": "Ed ran. He won.", "entities": [{"start": 0, "end": 2, "label": "P"}]}')
    >>> [(sentence.tokens, sentence.tags) for sentence in read_spans(file)]
    [(('Ed', 'ran', '.'), ('B-P', 'O', 'O')), (('He', 'won', '.'), ('O', 'O', 'O'))]
    """
    sentences, moved, dropped, skipped, documents = [], 0, 0, 0, itertools.count()
    with_tags = []  # the sentences whose tags are not yet in IOB2
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        document = next(documents)
        with located(path, number):
            record = _record(line)
            if pair := _tokens_and_tags(record):
                with_tags += [len(sentences)] if pair[0] else []
                sentences += [TaggedSentence(*pair, document, number)] if pair[0] else []
                continue
            if not isinstance(record.get("text"), str):
                raise DataError(f'expected an object with a "text", got {line[:40]!r}')
            if record.get("answer", "accept") != "accept":
                skipped += 1
                continue
            text, entities = _text_and_entities(record)
        tokens = tokenize(text, rules)
        spans, widened = _align(entities, tokens)
        moved += widened
        dropped += len(entities) - len(spans)
        tags = tags_of(spans, len(tokens), "IOB2")
        starts = [token.start for token in tokens]
        firsts = [bisect.bisect_left(starts, sentence.start) for sentence in split_sentences(text)]
        # The text may have a sentence that begins inside its last token.
        firsts = [first for first in firsts if first < len(tokens) and not tags[first].startswith("I-")]
        for first, end in _shorter(itertools.pairwise([*firsts, len(tokens)]), tags):
            if words := tuple(token.text for token in tokens[first:end]):
                sentences.append(TaggedSentence(words, tags[first:end], document, number))
    if next(documents) == 0:
        raise DataError("expected texts with entities, one JSON object per line, got none", path)
    scheme, repaired = "IOB2", 0
    if with_tags:
        lines = [[sentences[i].line - 1] * len(sentences[i].tokens) for i in with_tags]
        scheme, repaired, tags = as_iob2([sentences[i].tags for i in with_tags], lines, path)
        for i, new in zip(with_tags, tags, strict=True):
            sentences[i] = dataclasses.replace(sentences[i], tags=new)
    return TaggedCorpus(sentences, scheme, repaired, moved, dropped, skipped, not with_tags)


def _shorter(bounds, tags):
    """Cuts sentences of more than `LONGEST_SENTENCE` tokens, never inside an entity; yields (first, end)."""
    for first, end in bounds:
        before = first
        for place in range(first + 1, end + 1):
            if place < end and tags[place].startswith("I-"):
                continue
            if place - first > LONGEST_SENTENCE and before > first:
                yield first, before
                first = before
            before = place
        yield first, end


def _record(line):
    """Returns the object of a line; a pair of spaCy becomes one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {**record[1], "text": record[0]}
    if not isinstance(record, dict):
        raise DataError(f'expected an object with a "text", got {line[:40]!r}')
    return record


def _tokens_and_tags(record):
    """Returns the tokens and tags of an object that has both, two tuples; otherwise None."""
    tokens, tags = record.get("tokens"), next((record[key] for key in TAGS if key in record), None)
    if not isinstance(tokens, list) or not isinstance(tags, list):
        return None
    if not all(isinstance(token, str) for token in tokens):
        return None
    if len(tags) != len(tokens):
        raise DataError(f"expected a tag for each of {len(tokens)} tokens, got {len(tags)}")
    if not all(isinstance(tag, str) for tag in tags):
        names = '`dataset.features["ner_tags"].feature.int2str` gives them'
        raise DataError(f"expected names of tags, got {shown(tags)}; {names}")
    return tuple(tokens), tuple(tags)


def _text_and_entities(record):
    """Returns the text of an object and its entities, a sorted list of (start, end, label)."""
    text, entities = record["text"], next((record[key] for key in ENTITIES if key in record), None)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text: not valid Unicode: a lone surrogate at character {error.start}") from None
    if not isinstance(entities, list):
        raise DataError(f'expected a list of "entities", got {shown(entities)}')
    entities = sorted(_entity(entity, text) for entity in entities)
    for one, other in itertools.pairwise(entities):
        if other[0] < one[1]:
            raise DataError(f"expected entities that do not overlap, got {one} and {other}")
    return text, entities


def _entity(entity, text):
    if isinstance(entity, list) and len(entity) == 3:
        entity = dict(zip(("start", "end", "label"), entity, strict=True))
    if not isinstance(entity, dict):
        raise DataError(f"expected an entity with start, end and label, got {shown(entity)}")
    start, end = (entity.get(name, entity.get(f"{name}_offset")) for name in ("start", "end"))
    label = entity.get("label")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        raise DataError(
            f"expected start and end within 0 and {len(text)}, got {shown(start)} and {shown(end)}"
        )
    if not isinstance(label, str) or label.split() != [label]:
        raise DataError(f"expected a label without blanks, got {shown(label)}")
    if entity.get("text", text[start:end]) != text[start:end]:
        raise DataError(
            f"expected {shown(entity['text'])} from {start} to {end}, got {shown(text[start:end])}"
        )
    return start, end, label


def _align(entities, tokens):
    """Returns entities as spans of tokens, without those left with no token, and how many were widened."""
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    spans, moved, free = [], 0, 0  # free: the first token after the last entity
    for start, end, label in entities:
        first = max(free, bisect.bisect_right(ends, start))  # the first token that ends after `start`
        free = max(free, bisect.bisect_left(starts, end))  # the first token that begins at `end` or later
        if first < free:
            moved += (starts[first], ends[free - 1]) != (start, end)
            spans.append(Span(label, first, free))
    return spans, moved

"""Texts with entities by their characters, as JSON lines.

    {"text": "Ed Koch was mayor.", "entities": [{"start": 0, "end": 7, "label": "PER"}]}

A text is a line and a document; `end` is exclusive; characters are code points, as Python counts them.
"""

import bisect
import dataclasses
import itertools
import json
from typing import NamedTuple

from keraszoo.errors import DataError
from keraszoo.text.lines import read_lines
from keraszoo.text.tag_schemes import Span, spans, tags_of
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence
from keraszoo.text.tokens import split_sentences, tokenize


class Mention(NamedTuple):
    """An entity in a text: it stands from character `start` to `end`, the end exclusive."""

    start: int
    end: int
    label: str


@dataclasses.dataclass(frozen=True)
class AnnotatedText:
    """A text and its entities.

    Attributes:
        text: str.
        entities: tuple of `Mention`, in order, none over another.
        line: where it stands in its file, counted from 1.
    """

    text: str
    entities: tuple = ()
    line: int = 1


def is_json_lines(path):
    """Whether a file is one of JSON lines, by its name."""
    return str(path).removesuffix(".gz").endswith(".jsonl")


def read_spans(path):
    r"""Reads texts with entities, one JSON object a line.

    Other keys than `text`, `entities`, `start`, `end` and `label` are passed over; but if an entity has a
    `text` of its own, it must be what stands between its places. Blank lines are passed over.

    Args:
        path: the file, read as `read_lines` does.

    Returns:
        List of `AnnotatedText`; their entities are sorted.

    Raises:
        DataError: with file and line, for what is no such object; for an entity that is empty, out of range,
            over another, or whose label is blank or has blanks in it; for a file without texts.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "train.jsonl")
    >>> _ = file.write_text('{"text": "Ed ran.", "entities": [{"start": 0, "end": 2, "label": "PER"}]}\n')
    >>> read_spans(file)
    [AnnotatedText(text='Ed ran.', entities=(Mention(start=0, end=2, label='PER'),), line=1)]
    """
    texts = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            try:
                text, entities = _parse(line)
            except DataError as error:
                raise DataError(str(error), path, number) from None
            texts.append(AnnotatedText(text, entities, number))
    if not texts:
        raise DataError("expected texts with entities, one JSON object a line, got none", path)
    return texts


def span_lines(texts):
    """Texts with entities as lines of JSON, as `read_spans` reads them.

    Args:
        texts: iterable of `AnnotatedText`.

    Returns:
        Iterator of lines without their ends.

    Example:

    >>> list(span_lines([AnnotatedText("Ed ran.", (Mention(0, 2, "PER"),))]))
    ['{"text": "Ed ran.", "entities": [{"start": 0, "end": 2, "label": "PER"}]}']
    """
    for text in texts:
        entities = [Mention(*entity)._asdict() for entity in text.entities]
        yield json.dumps({"text": text.text, "entities": entities}, ensure_ascii=False)


def tagged_texts(texts, rules="words", sentences=True):
    """Texts with entities as tokens with tags.

    An entity that begins or ends inside a token is widened to it and counted as moved. Where that leaves none
    to the next entity, the next one is dropped and counted. A text is never cut inside an entity.

    Args:
        texts: iterable of `AnnotatedText`.
        rules: how text becomes tokens, a key of `TOKEN_RULES`.
        sentences: False leaves each text one sentence.

    Returns:
        A `TaggedCorpus`; each text is a document. A text of blanks has no sentence.

    Example:

    >>> text = AnnotatedText("Ed ran. US-China talks.", (Mention(0, 2, "P"), Mention(8, 10, "L")))
    >>> corpus = tagged_texts([text])
    >>> [(sentence.tokens, sentence.tags) for sentence in corpus]
    [(('Ed', 'ran', '.'), ('B-P', 'O', 'O')), (('US-China', 'talks', '.'), ('B-L', 'O', 'O'))]
    >>> corpus.moved, corpus.dropped
    (1, 0)
    """
    found, moved, dropped = [], 0, 0
    for document, text in enumerate(texts):
        tokens = tokenize(text.text, rules)
        aligned, wrong, lost = _align(text.entities, tokens)
        moved, dropped = moved + wrong, dropped + lost
        tags = tags_of(aligned, len(tokens), "IOB2")
        for start, end in _sentence_bounds(text.text, tokens, tags) if sentences else [(0, len(tokens))]:
            if start < end:
                words = tuple(token.text for token in tokens[start:end])
                found.append(TaggedSentence(words, tags[start:end], document, text.line))
    return TaggedCorpus(found, "IOB2", moved=moved, dropped=dropped)


def mentions_of(tokens, tags):
    """The entities that tags spell, by their characters.

    Args:
        tokens: sequence of `Token`.
        tags: as many tags in IOB2; what IOB2 does not allow is read as `repair` mends it.

    Returns:
        Tuple of `Mention`.

    Example:

    >>> mentions_of(tokenize("Mayor Ed Koch"), ["O", "B-PER", "I-PER"])
    (Mention(start=6, end=13, label='PER'),)
    """
    return tuple(
        Mention(tokens[span.start].start, tokens[span.end - 1].end, span.label)
        for span in spans(tags, "IOB2")
    )


def _parse(line):
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise DataError(f'expected an object with a "text", got {line[:40]!r}')
    text, entities = record["text"], record.get("entities")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text: not valid Unicode: a lone surrogate at character {error.start}") from None
    if not isinstance(entities, list):
        raise DataError(f'expected a list of "entities", got {entities!r}')
    mentions = sorted(_mention(entity, text) for entity in entities)
    for one, other in itertools.pairwise(mentions):
        if other.start < one.end:
            raise DataError(f"expected entities that do not overlap, got {tuple(one)} and {tuple(other)}")
    return text, tuple(mentions)


def _mention(entity, text):
    if not isinstance(entity, dict):
        raise DataError(f"expected an entity with start, end and label, got {entity!r}")
    start, end, label = (entity.get(name) for name in Mention._fields)
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        raise DataError(f"expected an entity of places within 0 and {len(text)}, got {start!r} to {end!r}")
    if not isinstance(label, str) or not label or label.split() != [label]:
        raise DataError(f"expected a label without blanks, got {label!r}")
    if "text" in entity and entity["text"] != text[start:end]:
        raise DataError(f"expected {entity['text']!r} from {start} to {end}, got {text[start:end]!r}")
    return Mention(start, end, label)


def _align(entities, tokens):
    """Entities as spans of tokens; how many of them do not fit whole tokens; how many find none."""
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    found, moved, dropped, free = [], 0, 0, 0
    for entity in sorted(entities):
        first = max(
            free, bisect.bisect_right(ends, entity.start)
        )  # the first token that ends behind its start
        free = max(
            free, bisect.bisect_left(starts, entity.end)
        )  # the first that does not begin before its end
        if first == free:
            dropped += 1
            continue
        moved += (starts[first], ends[free - 1]) != (entity.start, entity.end)
        found.append(Span(entity.label, first, free))
    return found, moved, dropped


def _sentence_bounds(text, tokens, tags):
    """Where sentences begin and end among the tokens; one that would begin inside an entity goes on."""
    starts = [token.start for token in tokens]
    firsts = [bisect.bisect_left(starts, sentence.start) for sentence in split_sentences(text)]
    cuts = [first for first in firsts if not tags[first].startswith("I-")] + [len(tokens)]
    return itertools.pairwise(cuts)

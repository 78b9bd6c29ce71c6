"""Streams of lines through a tagger: text, JSON lines or columns in, and one of them out."""

import itertools
import json

import numpy as np

from keraszoo.errors import DataError
from keraszoo.tagging.results import tagged_text
from keraszoo.text.columns import column_lines, lines_with_tags, read_columns
from keraszoo.text.lines import shown_name
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tokens import Token


def tag_lines(tagger, lines, write, chunk=256, as_json=False, path=None):
    """Tags lines, a chunk at a time, so that a file of any length passes through.

    Args:
        tagger: anything with `tag_details(list of str)`, such as an `EntityTagger`.
        lines: an iterable of strings, each a text.
        write: one of `WRITERS`, or what is called like them: a `TaggedText` and the JSON object that it came
            in, a dict, to the lines of the answer.
        chunk: how many lines are read before the first of them is answered.
        as_json: each line is a JSON object with a `text`, whose other keys are kept in answers that are JSON,
            too; `entities` among them is replaced.
        path: where the lines came from, for messages.

    Returns:
        An iterator of lists of str: the answers to a chunk.

    Raises:
        DataError: with file and line, for what is no such object.

    Example:

    >>> from keraszoo.tagging.results import Entity, TaggedText
    >>> class Numbers:
    ...     def tag_details(self, texts):
    ...         seven = Entity("7", "N", 0, 1, 1.0, None)
    ...         return [TaggedText(text, [seven], [], [], [], None, []) for text in texts]
    >>> list(tag_lines(Numbers(), ["7 dogs"], bracketed))
    [['[N 7] dogs']]
    >>> list(tag_lines(Numbers(), ['{"id": 3, "text": "7 dogs"}'], json_line, as_json=True))
    [['{"id": 3, "text": "7 dogs", "entities": [{"text": "7", "label": "N", "start": 0, "end": 1, ...]}']]
    """
    numbered = enumerate(lines, start=1)
    while some := list(itertools.islice(numbered, chunk)):
        records = [_record(line, path, number) if as_json else {"text": line} for number, line in some]
        found = tagger.tag_details([record["text"] for record in records])
        yield [line for pair in zip(found, records, strict=True) for line in write(*pair)]


def tag_columns(tagger, path, write=None, **columns):
    """Tags the sentences of a file of columns.

    Args:
        tagger: an `EntityTagger`.
        path: the file.
        write: as for `tag_lines`; a sentence is then its words with a blank between. `None`: the lines of the
            file, as many as came, with the tags as a last column.
        **columns: `token_column` and `separator` of `read_columns`.

    Returns:
        List of str.
    """
    corpus = read_columns(path, tag_column=None, **columns)
    found = tagger.tag_tokens_details([sentence.tokens for sentence in corpus])
    if write is None:
        return lines_with_tags(corpus, [tagged.tags for tagged in found])
    texts = (joined(tagged, tagger.model.attends) for tagged in found)
    return [line for text in texts for line in write(text, {"text": text.text})]


def joined(found, attends):
    """A `TaggedText` of `TaggedTokens`: the words with a blank between."""
    ends = np.cumsum([len(token) + 1 for token in found.tokens]).tolist()
    tokens = [
        Token(token, end - 1 - len(token), end - 1) for token, end in zip(found.tokens, ends, strict=True)
    ]
    return tagged_text(" ".join(found.tokens), [tokens], [found], attends)


def json_line(found, record):
    """A `TaggedText` as one line of JSON, with what else `record` holds."""
    entities = [entity.as_dict() for entity in found.entities]
    return [json.dumps({**record, "entities": entities}, ensure_ascii=False)]


def json_line_with_attention(found, record):
    """As `json_line`, with the words of the text, their tags, and the attention on each."""
    words = {
        "tokens": [token._asdict() for token in found.tokens],
        "tags": found.tags,
        "sentences": found.sentences,
        "attention_weights": [round(float(weight), 6) for weight in found.attention_weights],
    }
    return json_line(found, {**record, **words})


def bracketed(found, record=None):
    """A `TaggedText` as a line to be read: `[PER Ed Koch] was mayor.`; line ends in it become blanks."""
    parts, place = [], 0
    for entity in found.entities:
        parts += [found.text[place : entity.start], f"[{entity.label} {entity.text}]"]
        place = entity.end
    return [" ".join("".join([*parts, found.text[place:]]).splitlines())]


def as_columns(found, record=None):
    """A `TaggedText` as lines `token TAB tag`, a blank line after each sentence; for a blank text one."""
    sentences = [
        TaggedSentence(tuple(token.text for token in found.tokens[first:last]), tuple(found.tags[first:last]))
        for first, last in found.sentences
    ]
    return list(column_lines(sentences)) or [""]


WRITERS = {"json": json_line, "text": bracketed, "columns": as_columns}


def _record(line, path, number):
    try:
        record = json.loads(line)
        if isinstance(record, dict) and isinstance(record.get("text"), str):
            return record
    except (ValueError, RecursionError):
        record = None
    where = "lines" if path is None else shown_name(path)
    raise DataError(f'expected a JSON object with a "text", got {line[:40]!r}', where, number)

"""Tags streams of lines: text, JSON lines or columns in, any of them out."""

import itertools
import json

import numpy as np

from keraszoo.errors import DataError, KerasZooError, check_at_least
from keraszoo.messages import one_line, shown
from keraszoo.tagging.results import tagged_text
from keraszoo.text.columns import column_lines, lines_with_tags, read_columns
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tokens import Token


def tag_lines(tagger, lines, write, chunk=256, as_json=False, path=None, context=0, **choice):
    """Tags lines in chunks, so that files of any length fit in memory; yields the output lines of each.

    Args:
        tagger: an `EntityTagger`.
        lines: an iterable of strings, each a text of its own.
        write: one of `WRITERS`, or a function like them: it turns a `TaggedText` and its JSON object, a dict,
            into output lines.
        chunk: lines read before the first of them is answered.
        as_json: whether each line is a JSON object with a `text`. JSON output keeps its other keys, except
            `entities`. Blank lines are ignored.
        path: the file of the lines, for messages.
        context, **choice: as for `EntityTagger.tag`.

    Raises DataError, with file and line, for a line that is not such an object.
    """
    if isinstance(lines, str):
        raise KerasZooError(f"lines: expected an iterable of str, got one str, {shown(lines)}")
    check_at_least(chunk=(chunk, 1))
    records_of = _records(lines, as_json, path)
    while records := list(itertools.islice(records_of, chunk)):
        tagged = tagger.tag_details([record["text"] for record in records], context=context, **choice)
        yield [line for pair in zip(tagged, records, strict=True) for line in write(*pair)]


def texts_of(lines, as_json=False, path=None):
    """The text of each line, or of each JSON object; arguments and errors as for `tag_lines`."""
    return (record["text"] for record in _records(lines, as_json, path))


def tag_columns(tagger, paths, write=None, context=0, choice=None, **columns):
    """Tags the sentences of files of columns; yields the output lines of each file.

    With `write`, as for `tag_lines`, the text of a sentence is its words joined by blanks. Without it, the
    lines of the files get the tags as a last column. Together they are one file of columns: only the first
    file keeps its header, and a sentence ends where its file ends.

    `context` and `choice` are as for `EntityTagger.tag`; the documents are those of each file. `columns`
    are `token_column` and `separator` of `read_columns`. Raises DataError as `read_columns` does, or if
    `write` is None and a file has another header than the first.
    """
    header, end = None, []
    for path in paths:
        corpus = read_columns(path, tag_column=None, **columns)
        words, documents = [s.tokens for s in corpus], [s.document for s in corpus]
        options = {"context": context, "documents": documents, **(choice or {})}
        sentences = tagger.tag_tokens_details(words, **options)
        if write is not None:
            texts = (joined(sentence, tagger.model.attends) for sentence in sentences)
            yield [line for text in texts for line in write(text, {"text": text.text})]
            continue
        lines, row = lines_with_tags(corpus, [sentence.tags for sentence in sentences]), corpus.layout.header
        if row is not None:
            names = corpus.layout.lines[row].rstrip()
            if header is None:
                header = names
            elif header == names:
                del lines[row]
            else:
                expected = f"expected the header of the first file, {shown(header)}"
                raise DataError(f"{expected}, got {shown(names)}", path, row + 1)
        yield [*end, *lines]
        end = [""] if lines[-1].strip() else []


def joined(sentence, attends):
    """A `TaggedText` of `TaggedTokens`, the words joined by blanks."""
    ends = (np.cumsum([len(token) + 1 for token in sentence.tokens]) - 1).tolist()
    tokens = [Token(text, end - len(text), end) for text, end in zip(sentence.tokens, ends, strict=True)]
    return tagged_text(" ".join(sentence.tokens), [tokens], [sentence], attends)


def json_line(tagged, record):
    """A `TaggedText` as one line of JSON, with the other keys of `record`."""
    entities = [entity.as_dict() for entity in tagged.entities]
    return [json.dumps({**record, "entities": entities}, ensure_ascii=False)]


def json_line_with_attention(tagged, record):
    """Like `json_line`, with the words of the text, their tags and attention weights."""
    words = {
        "tokens": [token._asdict() for token in tagged.tokens],
        "tags": tagged.tags,
        "sentences": tagged.sentences,
        "attention_weights": [round(float(weight), 6) for weight in tagged.attention_weights],
    }
    return json_line(tagged, {**record, **words})


def bracketed(tagged, record=None):
    """A `TaggedText` as a line for reading: `[PER Ed Koch] was mayor.`; line ends become blanks."""
    parts, place = [], 0
    for entity in tagged.entities:
        parts += [tagged.text[place : entity.start], f"[{one_line(entity.label)} {entity.text}]"]
        place = entity.end
    return [" ".join("".join([*parts, tagged.text[place:]]).splitlines())]


def as_columns(tagged, record=None):
    """A `TaggedText` as lines `token TAB tag`, a blank line after each sentence; one for a blank text."""
    sentences = [
        TaggedSentence(
            tuple(token.text for token in tagged.tokens[first:last]), tuple(tagged.tags[first:last])
        )
        for first, last in tagged.sentences
    ]
    return list(column_lines(sentences)) or [""]


WRITERS = {"json": json_line, "text": bracketed, "columns": as_columns}


def _records(lines, as_json, path):
    """The lines as dicts with a `text`; blank lines of JSON are left out."""
    for number, line in enumerate(lines, start=1):
        if not as_json:
            yield {"text": line}
        elif line.strip():
            yield _record(line, path, number)


def _record(line, path, number):
    try:
        record = json.loads(line)
        if isinstance(record, dict) and isinstance(record.get("text"), str):
            return record
    except (ValueError, RecursionError):
        record = None
    raise DataError(f'expected a JSON object with a "text", got {line[:40]!r}', path or "lines", number)

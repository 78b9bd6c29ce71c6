"""Tagged text in columns, as in the CoNLL tasks: one token per line, a blank line after each sentence."""

import re
from typing import NamedTuple

from keraszoo.errors import DataError
from keraszoo.messages import shown
from keraszoo.text.characters import plain_form
from keraszoo.text.lines import located, read_rows
from keraszoo.text.tag_schemes import convert, detect_scheme, repair, split_tag
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence

DOCUMENT = "-DOCSTART-"
BOUND = re.compile(rf"\s*{DOCUMENT}(?!\S)")
BLANKS = re.compile("[ \t]+")  # a no-break space is part of a token
MIDDLE = re.compile("^M(?=-|$)")  # BMES: BIOES with another letter
TAG = re.compile(r"O|[BIESLUM](-\S+)?")
COMMENT = re.compile(r"#[ \t]")  # may also be a row of the token "#"
NOTE = re.compile(r"#\s+(id\s|newdoc\b|newpar\b|[^\s=]+\s*=)")  # a comment wherever it stands
NEW_DOCUMENT = re.compile(r"#\s+(newdoc\b|\S*document_id\b)")
PLAIN = "plain"  # the scheme of labels without letters


class Layout(NamedTuple):
    """The lines of a file of columns without line ends, and where its rows are."""

    lines: list
    rows: list  # for each sentence the indices of its rows
    separator: str  # a blank stands for any run of blanks and tabs
    header: int | None  # index of the line with the names of the columns


def read_columns(path, token_column=0, tag_column=-1, separator=None, scheme=None, label="ENTITY"):
    r"""Reads tokens and their tags from a file of columns.

    A blank line ends a sentence, a line that starts with `-DOCSTART-` a document. White space around a token
    is dropped; a no-break space does not separate columns. Tags of any scheme are converted to IOB2 (`M-` of
    BMES is `I-`); tags that their scheme does not allow are repaired and counted.

    A line `# ...` is a comment if it is a note such as `# id 7` or `# text = ...`, or if it stands before a
    sentence and is no row of the file. The notes `# newdoc` and `# document_id = ...` begin a document.

    Args:
        path: the file; see `read_lines`.
        token_column: the column of tokens: its number from 0, negative from the end; or its name, and then
            the first row holds the names.
        tag_column: the column of tags, likewise. None reads tokens only.
        separator: between columns: `"\t"`, `" "` for any run of blanks and tabs, or any string. By default a
            tab if the first row has one, otherwise blanks.
        scheme: the tag scheme, a key of `SCHEMES`; or `"plain"` for labels without letters, `PER` and `O`.
            By default it is detected.
        label: the label of tags that are letters alone, `B`, `I` and `O`.

    Returns:
        A `TaggedCorpus`.

    Raises:
        DataError: with file and line: a row with another number of columns than the first one, a missing
            column, a row without a tag, a tag of another scheme, a file without rows; and as `read_rows`
            does.
        KerasZooError: an unknown scheme.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "train.conll")
    >>> _ = file.write_text("Ed NNP I-PER\nKoch NNP I-PER\n\n-DOCSTART-\n\nRome NNP I-LOC")
    >>> corpus = read_columns(file)
    >>> corpus.scheme, corpus.repaired
    ('IO', 0)
    >>> corpus.sentences[1]
    TaggedSentence(tokens=('Rome',), tags=('B-LOC',), document=1, line=6)
    """
    lines = list(read_rows(path))
    has_header = isinstance(token_column, str) or isinstance(tag_column, str)
    places = [i for i, line in enumerate(lines) if line.strip() and not BOUND.match(line)]
    if not places:
        raise DataError("expected rows of a token and its tag, got none", path)
    first = next((place for place in places if not COMMENT.match(lines[place])), places[0])
    if not separator:
        separator = "\t" if "\t" in lines[first].rstrip() else " "
    names = fields_of(lines[first], separator)
    with located(path, first + 1):
        token_column, tag_column = (_column_number(column, names) for column in (token_column, tag_column))
        if token_column == tag_column:
            raise DataError(
                f"expected tokens and tags in different columns, got both in column {token_column} "
                f"of {len(names)}{'; is there another separator?' if len(names) == 1 else ''}"
            )

    def is_comment(line, inside):
        if NOTE.match(line):
            return True
        if inside or not COMMENT.match(line):
            return False
        row = fields_of(line, separator, len(names))
        no_tag = tag_column is not None and scheme != PLAIN and not TAG.fullmatch(row[tag_column % len(row)])
        return len(row) != len(names) or no_tag

    header = first if has_header else None
    rows, documents = _find_rows(lines, header, is_comment)
    if not rows:
        raise DataError("expected rows of a token and its tag, got none", path)
    tokens, tags = [], []
    for places in rows:
        fields = [fields_of(lines[place], separator, len(names)) for place in places]
        for place, row in zip(places, fields, strict=True):
            if len(row) != len(names):
                problem = f"expected {len(names)} columns, as in line {first + 1}, got {len(row)}"
                raise DataError(f"{problem}: {lines[place][:40]!r}", path, place + 1)
        tokens.append(tuple(row[token_column] for row in fields))
        tags.append(
            () if tag_column is None else [MIDDLE.sub("I", plain_form(row[tag_column])) for row in fields]
        )
    if (
        all(words == tuple(map(str, range(1, len(words) + 1))) for words in tokens)
        and max(map(len, tokens)) > 1
    ):
        number = f"column {token_column} holds the numbers of tokens"
        raise DataError(f"{number}; choose the one of the tokens, such as token_column 1", path)
    scheme, repaired, tags = as_iob2(tags, rows, path, scheme, label) if any(tags) else (None, 0, tags)
    sentences = [
        TaggedSentence(*parts, places[0] + 1)
        for *parts, places in zip(tokens, tags, documents, rows, strict=True)
    ]
    return TaggedCorpus(sentences, scheme, repaired, layout=Layout(lines, rows, separator, header))


def lines_with_tags(corpus, tags):
    """Returns the lines of a corpus of `read_columns` with the tags of its sentences as one more column."""
    lines, rows, separator, header = corpus.layout
    lines = list(lines)
    columns = len(fields_of(lines[rows[0][0] if header is None else header], separator))
    added = {
        place: tag
        for places, new in zip(rows, tags, strict=True)
        for place, tag in zip(places, new, strict=True)
    }
    if header is not None:
        added[header] = "tag"
    for place, tag in added.items():
        empty = columns - len(fields_of(lines[place], separator))  # the last fields of the line
        lines[place] = f"{lines[place].rstrip()}{separator * empty}{separator}{tag}"
    return lines


def column_lines(sentences, scheme="IOB2"):
    """Yields lines `token TAB tag` for `TaggedSentence`s, from which `read_columns` reads them back.

    Raises DataError: a sentence without tags, or a token that would be read as something else.
    """
    document = 0
    for sentence in sentences:
        if sentence.document != document:
            document = sentence.document
            yield from (f"{DOCUMENT}\tO", "")
        if len(sentence.tags) != len(sentence.tokens):
            raise DataError(f"cannot write {len(sentence.tags)} tags for {len(sentence.tokens)} tokens")
        for token, tag in zip(sentence.tokens, convert(sentence.tags, "IOB2", scheme), strict=True):
            if "\t" in token or "\n" in token or BOUND.match(token):
                raise DataError(f"cannot write {shown(token)} as a token")
            yield f"{token}\t{tag}"
        yield ""


def _find_rows(lines, header, is_comment):
    """Returns the indices of the rows of each sentence, and the document of each."""
    rows, documents, document, inside = [], [], 0, False
    for place, line in enumerate(lines):
        is_bound = BOUND.match(line) or NEW_DOCUMENT.match(line)
        if is_bound:
            document = documents[-1] + 1 if documents else 0
        if is_bound or not line.strip():
            inside = False
        elif place == header or is_comment(line, inside):
            continue
        elif inside:
            rows[-1].append(place)
        else:
            rows.append([place])
            documents.append(document)
            inside = True
    return rows, documents


def content_lines(lines):
    """The lines that are neither blank nor bounds of documents nor look like comments."""
    return (line for line in lines if line.strip() and not BOUND.match(line) and not COMMENT.match(line))


def fields_of(line, separator, count=0):
    """The fields of a line of columns; a separator of a blank stands for blanks and tabs.

    Empty fields at the end of the line are dropped, but no more than leave `count` fields.
    """
    whole = line.rstrip()
    if separator == " ":
        return BLANKS.split(whole.lstrip(" \t"))
    fields = [field.strip() for field in whole.split(separator)]
    return fields + [""] * min(line[len(whole) :].count(separator), count - len(fields))


def _column_number(column, names):
    """Returns the number of a column, from 0, given its number or name."""
    if isinstance(column, str):
        if column not in names:
            raise DataError(f"expected a column {shown(column)}, got {', '.join(names)}")
        return names.index(column)
    if column is not None and not -len(names) <= column < len(names):
        raise DataError(f"expected a column {column}, got {len(names)} columns")
    return None if column is None else column % len(names)


def as_iob2(tags, rows, path, scheme=None, label="ENTITY"):
    """Returns scheme, number of repaired tags, and IOB2 tags, for lists of tags in lines `rows` of a file."""
    if scheme == PLAIN:
        scheme, tags = "IO", [[tag if tag == "O" else f"I-{tag}" for tag in some] for some in tags]
    elif {"O"} < {"O", *(tag for some in tags for tag in some)} <= set("OBIESLU"):
        tags = [[tag if tag == "O" else f"{tag}-{label}" for tag in some] for some in tags]
    for sequence, places in zip(tags, rows, strict=True):
        for tag, place in zip(sequence, places, strict=True):
            try:
                split_tag(tag, scheme)
            except DataError as error:
                hint = "; labels without B- or I- are read with the scheme plain" if tag else ""
                if place == 0:
                    hint = f"; if this is a header, give the names of the columns, not numbers{hint}"
                raise DataError(f"{error}{hint}", path, place + 1) from None
    with located(path):
        scheme = scheme or detect_scheme(tags)
    repaired = sum(repair(sequence, scheme)[1] for sequence in tags)
    return scheme, repaired, [convert(sequence, scheme, "IOB2") for sequence in tags]

"""Tagged text in columns, as the CoNLL tasks have it: a token a line, a blank line after each sentence."""

import dataclasses
import re

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.lines import read_lines
from keraszoo.text.tag_schemes import convert, detect_scheme, letters_of, repair, split_tag
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence

DOCUMENT = "-DOCSTART-"
BLANKS = re.compile("[ \t]+")  # not a no-break space: that is part of a token


@dataclasses.dataclass(frozen=True)
class Columns:
    """How a file of columns is laid out, and its lines, for writing back.

    Attributes:
        lines: its lines, without their ends.
        rows: for each sentence the places of its rows among the lines, counted from 0.
        separator: `"\\t"` or another string; `" "` stands for blanks and tabs in any number.
        tag_column: number of the column of tags, from 0; None if there is none.
        header: place of the line that names the columns; None if there is none.
    """

    lines: list
    rows: list
    separator: str
    tag_column: int | None
    header: int | None = None


def read_columns(
    path, token_column=0, tag_column=-1, separator=None, scheme=None, *, names=None, comment=None
):
    r"""Reads tokens and their tags from a file of columns.

    A line of nothing but white space ends a sentence, and so does the end of the file. A line `-DOCSTART-`,
    with whatever columns, ends a document and is no sentence. White space around a token or at the end of a
    line is dropped; a token of white space alone is kept, as an empty string. A no-break space separates
    nothing. Tags of any scheme become IOB2; those that their scheme does not allow are mended and counted.

    Args:
        path: the file, read as `read_lines` does: plain or gzip, with or without byte order mark, `\r\n`.
        token_column: number of the column of tokens, from 0, negative from the end; or its name.
        tag_column: the same of the tags. None reads tokens alone.
        separator: between columns: `"\t"`, `" "` for blanks and tabs in any number, or any string. If not
            given, a tab where the first row has one, else blanks.
        scheme: the tag scheme, a key of `SCHEMES`; found by `detect_scheme` if not given.
        names: names of the columns. If not given, and a column is asked for by name, the first row has them.
        comment: lines that begin with this string are passed over; not given, there are none (`#` is a
            common token).

    Returns:
        A `TaggedCorpus`.

    Raises:
        DataError: with file and line, for a row with another number of columns than the first, a column that
            is not there, a row without a tag, a tag of no scheme or of another one, a file without any row;
            and as `read_lines` does.

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
    lines = list(read_lines(path))
    named = any(isinstance(column, str) for column in (token_column, tag_column))
    rows, documents, header = _find_rows(lines, comment, has_header=named and names is None)
    if not rows:
        raise DataError("expected rows of a token and its tag, got none", path)
    first = rows[0][0] if header is None else header
    if separator is None:
        separator = "\t" if "\t" in lines[first].rstrip() else " "
    width = len(_fields(lines[first], separator))
    if header is not None:
        names = _fields(lines[header], separator)
    token_column, tag_column = (
        _find_column(column, names, width, path, first + 1) for column in (token_column, tag_column)
    )
    if token_column == tag_column:
        raise DataError(
            f"expected tokens and tags in columns of their own, got both in column {token_column} of {width}"
            "; tag_column=None reads tokens alone",
            path,
            first + 1,
        )
    tokens, tags = [], []
    for places in rows:
        fields = [
            _checked_fields(lines[place], separator, width, path, place + 1, first + 1) for place in places
        ]
        tokens.append(tuple(row[token_column] for row in fields))
        if tag_column is not None:
            tags.append([row[tag_column] for row in fields])
    scheme, repaired, tags = _mend(tags, rows, scheme, path) if tags else (None, 0, [()] * len(rows))
    sentences = [
        TaggedSentence(*parts, document, places[0] + 1)
        for *parts, document, places in zip(tokens, tags, documents, rows, strict=True)
    ]
    return TaggedCorpus(
        sentences, scheme, repaired, columns=Columns(lines, rows, separator, tag_column, header)
    )


def retagged_lines(corpus, tags, scheme=None, append=False):
    r"""The lines of a file that `read_columns` read, with other tags in it: as many lines as came in.

    Whatever is not a tag stays as it was: other columns, the white space between them, comments, document
    bounds and blank lines. With the corpus' own tags the same lines come out, but for tags that were mended.

    Args:
        corpus: a `TaggedCorpus` of `read_columns`.
        tags: for each sentence its tags in IOB2.
        scheme: the scheme to write; that of the file if not given, IOB2 if it has none.
        append: True adds the tags as a last column and leaves the others as they are. So it is always done
            where the file has no tags.

    Returns:
        List of lines without their ends.

    Raises:
        KerasZooError: tags that do not fit the sentences, or an unknown scheme.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "test.conll")
    >>> _ = file.write_text("Ed  NNP O\nKoch NNP O\n\n")
    >>> corpus = read_columns(file)
    >>> retagged_lines(corpus, [("B-PER", "I-PER")], scheme="BIOES")
    ['Ed  NNP B-PER', 'Koch NNP E-PER', '']
    """
    columns = corpus.columns
    if columns is None:
        raise KerasZooError("expected a corpus that read_columns read, got one without columns")
    if len(tags) != len(corpus):
        raise KerasZooError(f"expected tags for {len(corpus)} sentences, got {len(tags)}")
    append = append or columns.tag_column is None
    lines = list(columns.lines)
    if append and columns.header is not None:
        lines[columns.header] = lines[columns.header].rstrip() + columns.separator + "tag"
    for sentence, places, given in zip(corpus, columns.rows, tags, strict=True):
        if len(given) != len(places):
            raise KerasZooError(
                f"expected {len(places)} tags for the sentence of line {sentence.line}, got {len(given)}"
            )
        for place, tag in zip(places, convert(given, "IOB2", scheme or corpus.scheme or "IOB2"), strict=True):
            if append:
                lines[place] = lines[place].rstrip() + columns.separator + tag
            else:
                lines[place] = _replace_field(lines[place], columns.separator, columns.tag_column, tag)
    return lines


def column_lines(sentences, scheme="IOB2"):
    r"""Sentences as lines `token TAB tag`, a blank line after each and `-DOCSTART-` between documents.

    Args:
        sentences: iterable of `TaggedSentence`.
        scheme: the scheme to write.

    Returns:
        Iterator of lines without their ends; `read_columns` gets the same sentences out of them.

    Raises:
        DataError: a token with a tab or a line end in it.

    Example:

    >>> list(column_lines([TaggedSentence(("Ed", "Koch"), ("B-PER", "I-PER"))], scheme="BILOU"))
    ['Ed\tB-PER', 'Koch\tL-PER', '']
    """
    document = 0
    for sentence in sentences:
        if sentence.document != document:
            document = sentence.document
            yield from (f"{DOCUMENT}\tO", "")
        for token, tag in zip(sentence.tokens, convert(sentence.tags, "IOB2", scheme), strict=True):
            if "\t" in token or "\n" in token:
                raise DataError(f"cannot write the token {token!r}: a tab or a line end ends a token here")
            yield f"{token}\t{tag}"
        yield ""


def _find_rows(lines, comment, has_header):
    """The places of the rows of each sentence, the document of each, and the place of the header."""
    rows, documents, header = [], [], None
    document, inside, bound = 0, False, False
    for place, line in enumerate(lines):
        if comment and line.startswith(comment):
            continue
        if not line.strip():
            inside = False
        elif BLANKS.split(line.lstrip(), 1)[0].rstrip() == DOCUMENT:
            inside, bound = False, bool(rows)
        elif has_header and header is None:
            header = place
        elif inside:
            rows[-1].append(place)
        else:
            document += bound
            inside, bound = True, False
            rows.append([place])
            documents.append(document)
    return rows, documents, header


def _fields(line, separator):
    if separator == " ":
        return BLANKS.split(line.rstrip().lstrip(" \t"))
    return [field.strip() for field in line.rstrip().split(separator)]


def _checked_fields(line, separator, width, path, number, first):
    fields = _fields(line, separator)
    if len(fields) != width:
        raise DataError(
            f"expected {width} columns, as in line {first}, got {len(fields)}: {line[:40]!r}", path, number
        )
    return fields


def _find_column(column, names, width, path, number):
    """The number of a column, from 0, of its number or name."""
    if column is None:
        return None
    if names is not None and len(names) != width:
        raise DataError(f"expected {len(names)} columns, {', '.join(names)}, got {width}", path, number)
    if isinstance(column, str):
        if column not in names:
            raise DataError(f"expected a column {column!r}, got {', '.join(names)}", path, number)
        return list(names).index(column)
    if not -width <= column < width:
        raise DataError(f"expected a column {column}, got {width} columns", path, number)
    return column % width


def _mend(tags, rows, scheme, path):
    """The scheme, the number of mended tags, and the tags in IOB2."""
    allowed = letters_of(scheme) if scheme else frozenset("OBIESLU")
    for sequence, places in zip(tags, rows, strict=True):
        for tag, place in zip(sequence, places, strict=True):
            try:
                if split_tag(tag)[0] not in allowed:
                    raise DataError(f"expected a tag of {scheme}, got {tag!r}")
            except DataError as error:
                raise DataError(str(error), path, place + 1) from None
    try:
        scheme = scheme or detect_scheme(tags)
    except DataError as error:
        raise DataError(str(error), path) from None
    repaired = 0
    for place, sequence in enumerate(tags):
        mended, count = repair(sequence, scheme)
        repaired += count
        tags[place] = convert(mended, scheme, "IOB2")
    return scheme, repaired, tags


def _replace_field(line, separator, column, field):
    """The line with the field of one column replaced, and everything else as it was."""
    pattern = "[ \t]+" if separator == " " else re.escape(separator)
    # With the separators in between, the fields stand at the even places.
    parts = re.split(f"({pattern})", line)
    place = 2 * column + 2 * (separator == " " and parts[0] == "")
    parts[place] = parts[place].replace(parts[place].strip(), field, 1) if parts[place].strip() else field
    return "".join(parts)

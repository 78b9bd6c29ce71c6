"""Reads tagged corpora, and tokens for word vectors, from files of several formats.

text      raw text, tokenized as the taggers do (`keraszoo.text.tokens`)
columns   one token per line with its tag, blank lines between sentences (`keraszoo.text.columns`)
json      texts with entities, one JSON object per line; `.jsonl` (`keraszoo.text.json_spans`)
tagged    running text of `word/TAG` or `word_TAG`, tags in capitals or marks, as in MASC
"""

import itertools
import re

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.characters import plain_form
from keraszoo.text.columns import BLANKS, content_lines, fields_of, read_columns
from keraszoo.text.json_spans import is_json_lines, read_spans
from keraszoo.text.lines import read_lines
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence
from keraszoo.text.tokens import fitting_rules, tokenize

KINDS = ("auto", "text", "columns", "json", "tagged")
ENTITY_TAG = re.compile(r"O|[BIESLUM]-\S+")
TAGGED = re.compile(r"(.+)[/_](?:[A-Z][A-Z|]*\$?|[^\w\s]{1,3}|-[LR][RCS]B-)")
SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
LONGEST_RUN = 1000  # tokens; limits the runs of a text without full stops


def read_tagged(path, rules="words", **columns):
    """Reads one tagged file.

    Args:
        path: the file; JSON lines if the name ends in `.jsonl`, otherwise columns.
        rules: how the texts of JSON lines are tokenized, a key of `TOKEN_RULES`.
        **columns: for a file of columns, the options of `read_columns`.

    Returns:
        A `TaggedCorpus`.

    Raises:
        DataError: as `read_columns` and `read_spans` do.
    """
    return read_spans(path, rules) if is_json_lines(path) else read_columns(path, **columns)


def read_corpora(data):
    """Reads the corpora of a recipe's `data` section.

    The tag scheme detected in the first file of columns with other tags than `O` and `I-` is used for the
    files after it, because the scheme of a small file can be ambiguous. The texts of JSON lines are split by
    the rules of the section or, without any, for validation and test by those that fit the training columns.

    Returns:
        `(train, validation, test)`, each a `TaggedCorpus`, or `None` if the section names no file.

    Raises:
        DataError: as `read_tagged` does; or files without a sentence.
    """
    names = ("token_column", "tag_column", "separator", "scheme", "label")
    columns = {name: getattr(data, name) for name in names}
    corpora, rules = [], data.token_rules or "words"
    for files in (data.train, data.validation, data.test):
        parts = []
        for file in files or ():
            parts.append(read_tagged(file, rules, **columns))
            if not is_json_lines(file) and parts[-1].shows_scheme:
                columns["scheme"] = columns["scheme"] or parts[-1].scheme
        corpora.append(TaggedCorpus.join(parts) if parts else None)
        if parts and not corpora[-1]:
            raise DataError("expected at least one sentence, got none", files[0])
        if files is data.train:
            rules = rules_of(data, corpora[0])
    return tuple(corpora)


def rules_of(data, train):
    """The rules that split text for a tagger: those of a recipe, or those that fit the words of its files."""
    if data.token_rules is None and not train.from_texts:
        return fitting_rules(sentence.tokens for sentence in train)
    return data.token_rules or "words"


def read_sentences(path, kind="auto", rules="words"):
    r"""Reads a file of any kind as sentences, with tags if the file has entity tags.

    Raw text is often broken into lines, so its sentences here are runs that end at a blank line or at a line
    that ends like a sentence. In the other kinds a sentence or a line is a sentence.

    Args:
        path: the file, UTF-8, plain or gzip.
        kind: one of `KINDS`; `"auto"` looks at the name and the first lines.
        rules: how raw text is tokenized, see `tokenize`.

    Returns:
        An iterator of `TaggedSentence`, none without tokens. A file without words gives none.

    Raises:
        DataError: with file and line, as `read_lines`, `read_columns` and `read_spans` do.
        KerasZooError: another `kind`, or unknown rules.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.txt")
    >>> _ = file.write_text("Two dogs run\nover a hill. A cat sleeps.\n\nThe end\n")
    >>> [sentence.tokens for sentence in read_sentences(file)]
    [('Two', 'dogs', 'run', 'over', 'a', 'hill', '.', 'A', 'cat', 'sleeps', '.'), ('The', 'end')]
    >>> _ = file.write_text("The_DT dog_NN 's_POS tail_NN ._.\n")
    >>> [sentence.tokens for sentence in read_sentences(file)]
    [('The', 'dog', "'s", 'tail', '.')]
    """
    if kind not in KINDS:
        raise KerasZooError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "auto":
        kind = find_kind(path)
    if kind in ("columns", "json"):
        return iter(_named_columns(path) if kind == "columns" else read_spans(path, rules))
    runs = _text_runs(path, rules) if kind == "text" else map(_untagged, read_lines(path))
    return (TaggedSentence(tuple(run)) for run in runs if run)


def find_kind(path):
    """Detects the kind of a file by its name, or by its first 100 lines that are not blank."""
    if str(path) == "-":
        raise KerasZooError("standard input is read once: give its kind, such as text")
    if is_json_lines(path):
        return "json"
    lines = itertools.islice(content_lines(read_lines(path)), 100)
    rows = [BLANKS.split(line.rstrip()) for line in lines]
    may_name_them = len(rows) > 2 and len(rows[0]) == len(rows[1])
    if rows and all(len(row) > 1 and ENTITY_TAG.fullmatch(row[-1]) for row in rows[may_name_them:]):
        return "columns"
    tokens = [token for row in rows for token in row if token]
    tagged = sum(1 for token in tokens if TAGGED.fullmatch(token))
    return "tagged" if tagged > 0.9 * len(tokens) else "text"


def _named_columns(path):
    """Reads the first column and, as tags, the last; the first row may name them."""
    first = next(content_lines(read_lines(path)), "")
    names = fields_of(first, "\t" if "\t" in first.rstrip() else " ")
    if not first or ENTITY_TAG.fullmatch(names[-1]):
        return read_columns(path)
    return read_columns(path, names[0], names[-1])


def _untagged(line):
    """Returns the words of a line of `word_TAG`; MASC has some words without a tag."""
    matches = ((token, TAGGED.fullmatch(token)) for token in line.split())
    return [match[1] if match else token for token, match in matches]


def _text_runs(path, rules):
    run = []
    for line in read_lines(path):
        run.extend(plain_form(token.text) for token in tokenize(line, rules))
        line = line.rstrip()
        if not line or SENTENCE_END.search(line) or len(run) > LONGEST_RUN:
            yield run
            run = []
    yield run

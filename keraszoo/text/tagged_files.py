"""Reads tagged corpora, and tokens for word vectors, from files of several formats.

text      raw text, tokenized as the taggers do (`keraszoo.text.tokens`)
columns   one token per line with its tag, blank lines between sentences (`keraszoo.text.columns`)
json      texts with entities, one JSON object per line; `.jsonl` (`keraszoo.text.json_spans`)
tagged    running text of `word/TAG` or `word_TAG`, tags in capitals or marks, as in MASC
"""

import itertools
import re
from collections import Counter

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.characters import plain_form
from keraszoo.text.columns import PLAIN, TAG, content_lines, fields_of, read_columns
from keraszoo.text.json_spans import is_json_lines, read_spans
from keraszoo.text.lines import read_lines
from keraszoo.text.tagged_corpus import TaggedCorpus, TaggedSentence
from keraszoo.text.tokens import fitting_rules, tokenize

KINDS = ("auto", "text", "columns", "json", "tagged")
LOOKED_AT = 200  # lines
MOST_LABELS = 100  # of a column of labels without letters
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


def read_corpora(data, path=str):
    """Reads the corpora of a recipe's `data` section: `(train, validation, test)`, None for no file.

    The tag scheme detected in the first file of columns with other tags than `O` and `I-` is used for the
    files after it, because the scheme of a small file can be ambiguous. The texts of JSON lines are split by
    the rules of the section or, without any, for validation and test by those that fit the training columns.
    Raises DataError as `read_tagged` does, or for files without a sentence.
    """
    names = ("token_column", "tag_column", "separator", "scheme", "label")
    columns = {name: getattr(data, name) for name in names}
    corpora, rules = [], data.token_rules or "words"
    for texts in (data.train, data.validation, data.test):
        files, parts = [path(text) for text in texts or ()], []
        for file in files:
            parts.append(read_tagged(file, rules, **columns))
            if not is_json_lines(file) and parts[-1].shows_scheme:
                columns["scheme"] = columns["scheme"] or parts[-1].scheme
        corpora.append(TaggedCorpus.join(parts) if parts else None)
        if parts and not corpora[-1]:
            raise DataError("expected at least one sentence, got none", files[0])
        if texts is data.train:
            rules = rules_of(data, corpora[0])
    return tuple(corpora)


def rules_of(data, train):
    """The rules that split text for a tagger: those of a recipe, or those that fit the words of its files."""
    if data.token_rules is None and not train.from_texts:
        return fitting_rules(sentence.tokens for sentence in train)
    return data.token_rules or "words"


def read_sentences(path, kind="auto", rules="words"):
    """Reads a file of any kind as sentences, with tags if the file has entity tags.

    Raw text is often broken into lines, so its sentences here are runs that end at a blank line or at a line
    that ends like a sentence. In the other kinds a sentence or a line is a sentence.

    Args:
        path: the file, UTF-8, plain or gzip.
        kind: one of `KINDS`; `"auto"` looks at the name and the first lines.
        rules: how raw text is tokenized, see `tokenize`.

    Returns an iterator of `TaggedSentence`, none without tokens. Raises DataError as the readers of each kind
    do, and KerasZooError for another `kind` or unknown rules.
    """
    if kind not in KINDS:
        raise KerasZooError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "auto":
        kind = find_kind(path)
    if kind == "columns":
        found = find_columns(first_lines(path))
        return iter(read_columns(path, **found[0] if found else {}))
    if kind == "json":
        return iter(read_spans(path, rules))
    runs = _text_runs(path, rules) if kind == "text" else map(_untagged, read_lines(path))
    return (TaggedSentence(tuple(run)) for run in runs if run)


def find_kind(path):
    """Detects the kind of a file by its name, or by its first 100 lines that are not blank."""
    if str(path) == "-":
        raise KerasZooError("standard input is read once: give its kind, such as text")
    if is_json_lines(path):
        return "json"
    lines = first_lines(path)
    if find_columns(lines):
        return "columns"
    tokens = [token for line in lines for token in line.split()]
    tagged = sum(1 for token in tokens if TAGGED.fullmatch(token))
    return "tagged" if tagged > 0.9 * len(tokens) else "text"


def first_lines(path):
    """The first lines of a file that are not blank. Raises DataError if it is not text."""
    return list(itertools.islice(filter(str.strip, read_lines(path)), LOOKED_AT))


def find_columns(lines):
    """The options of `read_columns` for a file with these first lines, and what they say; None without tags.

    The last column that holds tags counts, and the first one with other things than numbers. If the first row
    holds no tag, it names the columns. A last column of few labels, most of which are `O`, has the scheme
    `plain`.
    """
    lines = list(content_lines(lines))
    separator = "\t" if lines and "\t" in lines[0] else " "
    rows = [fields_of(line, separator) for line in lines]
    if len(rows) < 2 or {len(row) for row in rows} != {len(rows[0])}:
        return None
    columns, below = list(zip(*rows[len(rows) > 2 :], strict=True)), {}
    tags = [i for i, column in enumerate(columns) if _is_of_tags(column)]
    if not tags and len(columns) > 1:
        labels = Counter(columns[-1])
        if labels.most_common(1)[0][0] == "O" and len(labels) <= MOST_LABELS:
            tags, below = [len(columns) - 1], {"scheme": PLAIN}
    tokens = [i for i, column in enumerate(columns) if i not in tags and not all(map(str.isdecimal, column))]
    if not tags or not tokens:
        return None
    token, tag = tokens[0], tags[-1]
    said = f"tokens in column {token} ({rows[1][token]!r}), tags in column {tag} of {len(columns)}"
    if not below and not TAG.fullmatch(rows[0][tag]):
        names = {"token_column": rows[0][token], "tag_column": rows[0][tag]}
        return names, f"{said}; the first row names them"
    return {"token_column": token, "tag_column": -1 if tag == len(columns) - 1 else tag} | below, said


def _is_of_tags(column):
    return all(map(TAG.fullmatch, column)) and any(tag == "O" or "-" in tag for tag in column)


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

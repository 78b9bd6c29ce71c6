"""Running words out of text files of several kinds, for whoever needs words and no tags.

text      raw text; tokenised as the taggers tokenise it (`keraszoo.text.tokens`)
columns   one token a line with its tag, blank lines between sentences (`keraszoo.text.columns`)
json      texts with entities, one JSON object a line; the file ends in .jsonl (`keraszoo.text.json_spans`)
tagged    running text of `word/TAG` or `word_TAG`, as the corpora Brown and MASC
"""

import itertools
import re

from keraszoo.errors import KerasZooError
from keraszoo.text.columns import BLANKS, DOCUMENT, read_columns
from keraszoo.text.json_spans import is_json_lines, read_spans, tagged_texts
from keraszoo.text.lines import read_lines
from keraszoo.text.tokens import tokenize
from keraszoo.text.vector_coverage import tokens_of

KINDS = ("auto", "text", "columns", "json", "tagged")
ENTITY_TAG = re.compile(r"O|[BIESLUM]-\S+")
TAGGED = re.compile(r"(.+)[/_](?:[A-Z][A-Z|]*\$?|[^\w\s]{1,3}|-[LR][RCS]B-)")
SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
LONGEST_RUN = 1000  # tokens: a text of one sentence a line, none with a full stop, is no single run


def read_tokens(path, kind="auto", rules="words"):
    r"""Reads a file as runs of tokens: words that stand in one context.

    A run of raw text goes on over line ends, as text is often broken into lines, until a blank line or a line
    that ends with the end of a sentence; so a text of one sentence a line gives a run for each. In the
    other kinds a sentence, or a line, is a run.

    Args:
        path: the file, UTF-8, plain or gzip.
        kind: one of `KINDS`; `"auto"` looks at the first lines.
        rules: by which raw text is cut into tokens, see `tokenize`.

    Returns:
        An iterator of lists of str, none empty. A file without words gives none.

    Raises:
        DataError: as `read_lines`, `read_columns` and `read_spans` raise it, with file and line.
        KerasZooError: another `kind`, or unknown rules.

    Example:

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "text.txt")
    >>> _ = file.write_text("Two dogs run\nover a hill. A cat sleeps.\n\nThe end\n")
    >>> list(read_tokens(file))
    [['Two', 'dogs', 'run', 'over', 'a', 'hill', '.', 'A', 'cat', 'sleeps', '.'], ['The', 'end']]
    >>> _ = file.write_text("The_DT dog_NN 's_POS tail_NN ._.\n")
    >>> list(read_tokens(file))
    [['The', 'dog', "'s", 'tail', '.']]
    """
    runs = ([token for token in tokens_of(some) if token] for some in read_sentences(path, kind, rules))
    return (run for run in runs if run)


def read_sentences(path, kind="auto", rules="words"):
    """Reads the same runs, but as `TaggedSentence`s where the file has tags; see `read_tokens`."""
    if kind not in KINDS:
        raise KerasZooError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "auto":
        kind = find_kind(path)
    if kind == "columns":
        return iter(read_columns(path).sentences)
    if kind == "json":
        return iter(tagged_texts(read_spans(path), rules).sentences)
    if kind == "tagged":
        return ([_untagged(token) for token in line.split()] for line in read_lines(path))
    return _text_runs(path, rules)


def find_kind(path):
    """Says of which of the kinds a file is, by its name or by its first 100 lines that are not blank.

    Raises:
        DataError: the file cannot be read.
    """
    if is_json_lines(path):
        return "json"
    lines = list(itertools.islice((line for line in read_lines(path) if line.strip()), 100))
    rows = [BLANKS.split(line.rstrip()) for line in lines if not line.startswith(DOCUMENT)]
    if rows and all(len(row) > 1 and ENTITY_TAG.fullmatch(row[-1]) for row in rows):
        return "columns"
    tokens = [token for row in rows for token in row if token]
    tagged = sum(1 for token in tokens if TAGGED.fullmatch(token))
    return "tagged" if tagged > 0.9 * len(tokens) else "text"


def _untagged(token):
    """The word of `word_TAG`; a token without a tag is a word, too: MASC has some."""
    match = TAGGED.fullmatch(token)
    return match[1] if match else token


def _text_runs(path, rules):
    run = []
    for line in read_lines(path):
        run.extend(token.text for token in tokenize(line, rules))
        line = line.rstrip()
        if not line or SENTENCE_END.search(line) or len(run) > LONGEST_RUN:
            yield run
            run = []
    yield run

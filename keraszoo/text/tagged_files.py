"""Reads tagged corpora from files of either format: columns or JSON lines."""

from keraszoo.text.columns import read_columns
from keraszoo.text.json_spans import is_json_lines, read_spans, tagged_texts
from keraszoo.text.tagged_corpus import TaggedCorpus


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
    if is_json_lines(path):
        return tagged_texts(read_spans(path), rules)
    return read_columns(path, **columns)


def read_corpora(data):
    """Reads the corpora of a recipe's `data` section.

    The tag scheme detected in the first training file is used for all files, because the scheme of a small
    file can be ambiguous.

    Args:
        data: a `TaggedDataSection`.

    Returns:
        `(train, validation, test)`, each a `TaggedCorpus`, or `None` if the section names no file.

    Raises:
        DataError: as `read_tagged` does.
    """
    columns = {name: getattr(data, name) for name in ("token_column", "tag_column", "separator", "scheme")}
    corpora = []
    for files in (data.train, data.validation, data.test):
        parts = []
        for file in files or ():
            parts.append(read_tagged(file, data.token_rules, **columns))
            columns["scheme"] = columns["scheme"] or parts[-1].scheme
        corpora.append(TaggedCorpus.join(parts) if parts else None)
    return tuple(corpora)

"""The ids of given translations and of their beginnings."""

from keraszoo.errors import KerasZooError, check_texts
from keraszoo.translation.input_warnings import warn_of_unknown


def rows_of(targets, subwords, name):
    """The ids of given translations: a list of str, or of lists of the subwords of each."""
    if isinstance(targets, (list, tuple)) and all(isinstance(target, (list, tuple)) for target in targets):
        return [subwords.ids(pieces) for pieces in targets]
    check_texts(targets, name)
    rows = subwords.encode(list(targets))
    warn_of_unknown(targets, rows, subwords)
    return rows


def prefix_rows(prefix, texts, subwords, max_length):
    """The ids that the translation of each text begins with: a list of lists, or `None`."""
    if prefix is None:
        return None
    prefixes = [prefix] * len(texts) if isinstance(prefix, str) else prefix
    rows = rows_of(prefixes, subwords, "prefix")
    if len(prefixes) != len(texts):
        raise KerasZooError(f"prefix: expected a str, or {len(texts)} of them, got {len(prefixes)}")
    for i, row in enumerate(rows, start=1):
        if len(row) >= max_length:
            raise KerasZooError(f"prefix {i} has {len(row)} subwords, max_length is {max_length}")
    return rows

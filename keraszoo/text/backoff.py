"""Other forms of a word under which word vectors may have it, by name.

Vectors know `aspirin` but not `ASPIRIN`, `0000` (or `####`) but not `1849`. A chain of names, tried in order,
says which forms stand in for a word; as plain strings it goes into a recipe and a model's `config.json`.
"""

import re

from keraszoo.errors import KerasZooError

# ASCII alone: the graph of a SavedModel, whose regular expressions are RE2, then folds the same characters.
DIGIT = re.compile("[0-9]")


def exact(word):
    """The word as it stands."""
    return word


def lower(word):
    """All letters small."""
    return word.lower()


def capital(word):
    """The first letter capital, the others small: how vectors of edited text spell a name."""
    return word[:1].upper() + word[1:].lower()


def digits_to_zero(word):
    """Every digit a 0, as in vectors for tagging by Collobert, Huang, Ma and Hovy and others."""
    return DIGIT.sub("0", word)


def digits_to_hash(word):
    """Every digit a #, as in the vectors of Google News."""
    return DIGIT.sub("#", word)


def lower_digits_to_zero(word):
    """All letters small, every digit a 0."""
    return digits_to_zero(word.lower())


def lower_digits_to_hash(word):
    """All letters small, every digit a #."""
    return digits_to_hash(word.lower())


BACKOFFS = {
    "exact": exact,
    "lower": lower,
    "capital": capital,
    "digits0": digits_to_zero,
    "digits#": digits_to_hash,
    "lower+digits0": lower_digits_to_zero,
    "lower+digits#": lower_digits_to_hash,
}

DEFAULT_BACKOFF = ("exact", "lower", "digits0", "lower+digits0")


def check_backoff(names):
    """Returns a chain as a tuple.

    Raises:
        KerasZooError: an unknown name, a name twice, none at all, or a string in place of a list.

    Example:

    >>> check_backoff(["exact", "lower"])
    ('exact', 'lower')
    """
    if isinstance(names, str):
        raise KerasZooError(f"backoff: expected a list of names, got the string {names!r}")
    names = tuple(names)
    for name in names:
        if name not in BACKOFFS:
            raise KerasZooError(f"backoff: expected names of {', '.join(BACKOFFS)}, got {name!r}")
    if not names or len(set(names)) != len(names):
        raise KerasZooError(f"backoff: expected one name or more, each once, got {list(names)}")
    return names


def backoff_forms(word, names=DEFAULT_BACKOFF):
    """Returns the forms of a word in the order in which they are to be tried, one for each name.

    Two names may give the same form; looking it up twice changes nothing.

    Args:
        word: str.
        names: keys of `BACKOFFS`, as `check_backoff` lets them pass.

    Returns:
        list of str, as long as `names`.

    Example:

    >>> backoff_forms("B12")
    ['B12', 'b12', 'B00', 'b00']
    """
    return [BACKOFFS[name](word) for name in names]

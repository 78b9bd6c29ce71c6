"""Numbers in words, in English and German: a small, exact translation task that needs no data.

It is not monotone: "twenty-one" is "einundzwanzig", and "two hundred" is one word in German.
"""

import random

from keraszoo.errors import KerasZooError

LARGEST_OWN_WORD = 20  # larger numbers are composed of the words of smaller ones


def number_pairs(numbers):
    """Writes numbers in words, in English and German.

    Args:
        numbers: iterable of int, 0 or more.

    Returns:
        List of (english, german), one pair for each number.

    Raises:
        KerasZooError: the library num2words is not installed.

    Example:

    >>> number_pairs([21, 1_700])
    [('twenty-one', 'einundzwanzig'), ('one thousand, seven hundred', 'eintausendsiebenhundert')]
    """
    try:
        from num2words import num2words
    except ImportError as error:
        raise KerasZooError("numbers in words need the library num2words: pip install num2words") from error
    return [(num2words(int(n), lang="en"), num2words(int(n), lang="de")) for n in numbers]


def split_numbers(count_train, count_test, maximum, seed):
    """Draws distinct numbers to train and to test on, of all lengths up to `maximum`.

    Each number of digits gets an equal share, as far as there are enough numbers. Numbers up to 20 have words
    of their own and are all in the training part, because no model can guess "zero". The test part holds new
    combinations of known words.

    Args:
        count_train: how many numbers to train on, at least 21.
        count_test: how many to hold out.
        maximum: the largest number that may be drawn.
        seed: int; the same seed gives the same numbers.

    Returns:
        (train, test): two disjoint lists of distinct int from 0 to `maximum`, in random order.

    Raises:
        KerasZooError: there are not enough numbers, or too few to train on.

    Example:

    >>> train, test = split_numbers(100, 10, maximum=9_999, seed=0)
    >>> len(train), len(test), set(train) & set(test)
    (100, 10, set())
    """
    own = list(range(LARGEST_OWN_WORD + 1))
    if count_train < len(own) or count_test < 0:
        raise KerasZooError(
            f"expected at least {len(own)} numbers to train on and 0 to hold out, "
            f"got {count_train} and {count_test}"
        )
    if count_train + count_test > maximum + 1:
        raise KerasZooError(
            f"cannot draw {count_train} + {count_test} distinct numbers: "
            f"there are {maximum + 1} from 0 to {maximum}"
        )
    rng = random.Random(seed)
    drawn = []
    ranges = _ranges_by_length(len(own), maximum)
    for i, numbers in enumerate(ranges):  # short ranges first; the long ones share the rest
        share = (count_train + count_test - len(own) - len(drawn)) // (len(ranges) - i)
        drawn += rng.sample(numbers, min(share, len(numbers)))
    rng.shuffle(drawn)
    train, test = own + drawn[count_test:], drawn[:count_test]
    rng.shuffle(train)
    return train, test


def _ranges_by_length(minimum, maximum):
    """Splits the numbers from `minimum` to `maximum` by their number of digits, the shortest range first."""
    ranges = []
    while minimum <= maximum:
        end = min(10 ** len(str(minimum)), maximum + 1)
        ranges.append(range(minimum, end))
        minimum = end
    return sorted(ranges, key=len)

"""Numbers in words: known ones, no leak between training and test, and all lengths."""

import re
from collections import Counter

import pytest
from number_words import number_pairs, split_numbers

KNOWN = {
    0: ("zero", "null"),
    1: ("one", "eins"),
    12: ("twelve", "zwölf"),
    21: ("twenty-one", "einundzwanzig"),
    101: ("one hundred and one", "einhunderteins"),
    999: ("nine hundred and ninety-nine", "neunhundertneunundneunzig"),
    2_035: ("two thousand and thirty-five", "zweitausendfünfunddreißig"),
    1_000_000: ("one million", "eine Million"),
}


def test_known_numbers():
    assert number_pairs(KNOWN) == list(KNOWN.values())


@pytest.mark.parametrize(
    ("count_train", "count_test", "maximum"), [(3000, 300, 999_999), (500, 400, 999), (21, 0, 20)]
)
def test_numbers_are_distinct_held_out_and_repeatable(count_train, count_test, maximum):
    train, test = split_numbers(count_train, count_test, maximum, seed=1)
    assert (len(train), len(test)) == (count_train, count_test)
    assert len({*train, *test}) == count_train + count_test
    assert 0 <= min(train) and max([*train, *test]) <= maximum
    assert split_numbers(count_train, count_test, maximum, seed=1) == (train, test)
    assert maximum == 20 or split_numbers(count_train, count_test, maximum, seed=2) != (train, test)


def test_all_numbers_can_be_drawn_and_all_lengths_occur_often():
    train, test = split_numbers(150, 51, maximum=200, seed=0)
    assert sorted(train + test) == list(range(201))
    train, test = split_numbers(4000, 500, maximum=999_999, seed=0)
    lengths, tested = (Counter(len(str(number)) for number in part) for part in (train + test, test))
    assert set(range(21)) <= set(train)
    assert lengths[1] == 10 and lengths[2] == 90
    assert all(lengths[digits] > 850 and tested[digits] > 50 for digits in (3, 4, 5, 6))


def test_every_word_that_is_tested_occurs_in_training():
    train, test = (number_pairs(part) for part in split_numbers(1000, 300, maximum=999_999, seed=3))
    words, tested = (set(re.split("[ -]", " ".join(dict(part)))) for part in (train, test))
    assert tested <= words

"""Files of terms, and where terms stand in texts."""

import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.text.terms import TermFinder, read_terms


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("My car is in the car park.", ["Wagen", "Parkhaus"]),  # the longest, and it belongs to no other
        ("Car parks? A car-park, a car.", ["Wagen", "Wagen", "Wagen"]),  # a capital, and whole words
        ("CAR scar cars carpark car2", []),
        ("car", ["Wagen"]),
        ("I don\u2019t know the cafe\u0301 (car)", ["nicht", "Kaffeehaus", "Wagen"]),
        ("C++, not C+ or MC++", ["C++"]),
        ("\u79c1\u306e\u8eca\u306f\u8d64\u3044", ["Wagen"]),  # no blanks between words
        ("US us Us", ["USA", "uns", "uns"]),  # an entry of its own comes before the capital of another
        ("", []),
    ],
)
def test_terms_are_found_as_whole_words(text, targets):
    terms = {"car": "Wagen", "car park": "Parkhaus", "don't": "nicht", "café": "Kaffeehaus", "C++": "C++"}
    terms |= {"\u8eca": "Wagen", "US": "USA", "us": "uns"}
    assert TermFinder(terms).targets(text) == targets


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ([("car", "Wagen")], "expected a dict of str to str, got"),
        ({"car": 3}, r"the targets of terms\[0\]: expected a str, got int"),
        ({"car": " "}, "'car': expected words on both sides"),
        ({"car": "Wagen", " car ": "Auto"}, "'car' is both 'Wagen' and 'Auto'"),
    ],
)
def test_terms_that_cannot_be(terms, said):
    with pytest.raises(KerasZooError, match=said):
        TermFinder(terms)


def test_a_file_of_terms(write):
    file = write("\ufeffcar\tWagen\r\n\n  car  park \tParkhaus\ncar\tWagen\n")
    assert read_terms(file) == {"car": "Wagen", "car park": "Parkhaus"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("car\tWagen\ncar\tAuto\n", "terms.tsv:2: 'car' is 'Auto' here, but 'Wagen' in line 1"),
        ("car\tWagen\ncar park\n", "terms.tsv:2: expected source TAB target, got 'car park'"),
        ("car\tWagen\tmasculine\n", "terms.tsv:1: expected source TAB target"),
        ("car\t \n", "terms.tsv:1: expected source TAB target"),
        ("\n", "terms.tsv: no terms"),
    ],
)
def test_a_file_of_terms_that_is_wrong(write, text, said):
    with pytest.raises(DataError, match=said):
        read_terms(write(text, "terms.tsv"))

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.backoff import BACKOFFS, backoff_forms, check_backoff


def test_every_form_of_a_word():
    forms = dict(zip(BACKOFFS, backoff_forms("IL-2Rβ", BACKOFFS), strict=True))
    assert forms == {
        "exact": "IL-2Rβ",
        "lower": "il-2rβ",
        "capital": "Il-2rβ",
        "digits0": "IL-0Rβ",
        "digits#": "IL-#Rβ",
        "lower+digits0": "il-0rβ",
        "lower+digits#": "il-#rβ",
    }


@pytest.mark.parametrize("word", ["", "١٩٤٨", "ǅ", "ΟΔΟΣ", "İ", "ß", "\U0001f600", "e\u0301"])
def test_no_form_of_an_odd_word_fails_and_only_ascii_digits_fold(word):
    assert backoff_forms(word)[0] == word and backoff_forms(word, ["digits0"]) == [word]
    assert all(isinstance(form, str) for form in backoff_forms(word, BACKOFFS))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("lower", "a list of names"),
        (["lower", "upper"], "'upper'"),
        ([], "each once"),
        (["exact"] * 2, "each once"),
    ],
)
def test_wrong_chains(names, message):
    with pytest.raises(KerasZooError, match=message):
        check_backoff(names)

"""The frozen table of characters against Python's, and what is invisible."""

import unicodedata

import pytest

from keraszoo.text.characters import inside, members, plain_form

COARSER = {"Lm": "Lo", "Sm": "S", "Sc": "S", "Sk": "S"}
# Categories that the table does not have: letters of words, if anything.
LEFT_OUT = ("Cn", "Cf", "Cs", "Co", "Pc")


def category(code):
    kind = unicodedata.category(chr(code))
    return COARSER.get(kind, kind[0] if kind[0] in "MNZ" else kind)


def test_the_table_has_the_categories_that_python_knows():
    names = "Lu Ll Lt Lo M N Pd Ps Pe Pi Pf Po So Z Cc".split()
    ours = {character: name for name in names for character in members(inside(name))}
    ours |= {character: "S" for character in members(inside("S")) - members(inside("So"))}
    different = {
        chr(code): (ours.get(chr(code)), category(code))
        for code in range(0x110000)
        if ours.get(chr(code), category(code)) != category(code)
        or (chr(code) not in ours and category(code) not in LEFT_OUT)
    }
    different = {c: kinds for c, kinds in different.items() if kinds[1] != "Cn"}  # of a later version
    assert different.keys() <= {"\u0295"}  # a small letter until Unicode 16


def test_classes_and_their_complements():
    assert inside("", "ab-dx") == "a-dx"
    assert members(inside("N", others=True)) == set(map(chr, range(0x110000))) - members(inside("N"))
    assert members("\\x09-\\x0b-") == {"\t", "\n", "\x0b", "-"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Paris", "Paris"),
        ("\u200ePa\u00adris\u200f", "Paris"),
        ("\ufeffRo\u2060me\u061c", "Rome"),
        ("Au\u200cf\u200dlage\u200d", "Auflage"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        ("\u0d28\u0d4d\u200d", "\u0d28\u0d4d\u200d"),  # Malayalam
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("e\u0301 \u00e9", "e\u0301 \u00e9"),
    ],
)
def test_what_is_invisible_is_left_out(text, plain):
    assert plain_form(text) == plain

"""The frozen table of characters against Python's, and what is invisible."""

import unicodedata

import pytest

from keraszoo.text.characters import inside, members, plain_form

COARSER = {"Lm": "Lo", "Sm": "S", "Sc": "S", "Sk": "S"}
# Categories that the table does not have: letters of words, if anything.
LEFT_OUT = ("Cf", "Cs", "Co", "Pc")


def category(code):
    kind = unicodedata.category(chr(code))
    return COARSER.get(kind, kind[0] if kind[0] in "MNZ" else kind)


def test_the_table_has_the_categories_that_python_knows():
    names = "Lu Ll Lt Lo M N Pd Ps Pe Pi Pf Po So Z Cc".split()
    ours = {character: name for name in names for character in members(inside(name))}
    ours |= {character: "S" for character in members(inside("S")) - members(inside("So"))}
    known = {chr(code): kind for code in range(0x110000) if (kind := category(code)) != "Cn"}
    different = {c for c, kind in known.items() if ours.get(c) != (None if kind in LEFT_OUT else kind)}
    assert different <= {"\u0295"}  # a small letter until Unicode 16


def test_every_character_without_a_shape_is_left_out_of_a_latin_word():
    ignorable = members(
        "\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u3164"
        "\ufe00-\ufe0f\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0020-\U000e007f\U000e0100-\U000e01ef"
    )  # Default_Ignorable_Code_Point of Unicode without the zero-width space and unassigned characters
    assert {character for character in ignorable if plain_form(f"a{character}b") != "ab"} == set()


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\u200ePa\u00adris\u200f", "Paris"),
        ("\ufeffRo\u2060me\u061c", "Rome"),
        ("Au\u200cf\u200dlage\u200d", "Auflage"),
        ("Paris\ufe0f Ro\U000e0061me \u3164\u3164東\U000e0100京\u180e", "Paris Rome 東京"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),  # Persian
        ("\u0d28\u0d4d\u200d", "\u0d28\u0d4d\u200d"),  # Malayalam
        ("\u182e\u180e\u1820 \u2764\ufe0f", "\u182e\u180e\u1820 \u2764\ufe0f"),  # Mongolian, a heart
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("e\u0301 \u00e9", "e\u0301 \u00e9"),
    ],
)
def test_what_is_invisible_is_left_out(text, plain):
    assert plain_form(text) == plain

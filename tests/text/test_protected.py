"""What must not change: placeholders, addresses, given words and numbers."""

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.text.inline import Region
from keraszoo.text.protected import check_keep, lost_numbers, protected


def kept(text, keep=()):
    return [region.output for region in protected(text, keep)]


PLACEHOLDERS = ["{name}", "{{ name }}", "${name}", "{0}", "{0:.2f}", "{}", "%s", "%d", "%(name)s"]


@pytest.mark.parametrize("placeholder", [*PLACEHOLDERS, "%1$s", "%.2f", "%@", "$1", "$name"])
def test_placeholders(placeholder):
    assert kept(f"Hello {placeholder}, how are you?") == [placeholder]


LIKE_PLACEHOLDERS = ["50% of it", "100 % sure", "It costs $3.50.", "a {not this} b", "5 % die", "a @ b"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("See https://x.org/a?b=1#c, www.x.org/d.", ["https://x.org/a?b=1#c", "www.x.org/d"]),
        ("Or example.com; write to me.too@x.co.uk.", ["example.com", "me.too@x.co.uk"]),
        *((text, []) for text in LIKE_PLACEHOLDERS),
        # Letters and digits that touch a part belong to it.
        ("the {n}th of user{id}b, {a}{b}", ["{n}th", "user{id}b", "{a}{b}"]),
        ("the folder\n{name}", ["{name}"]),
        ("{name}'s, ({name}) und {name}-Datei, {名}さん", ["{name}", "{name}", "{name}", "{名}"]),
        # Given words are whole words, the longest first.
        ("大猫在Acme", ["猫", "Acme"]),
        ("Acme's Acme Corp. and Acmes, acme, (Acme)", ["Acme", "Acme Corp.", "Acme"]),
    ],
)
def test_addresses_and_given_words(text, parts):
    assert kept(text, ["Acme", "Acme Corp.", "猫"]) == parts


def test_opaque_parts_stay_as_they_were_written():
    regions = protected("see \ufffcs now", opaque=[Region(4, 5, "<code>x</code>")])
    assert regions == [Region(4, 6, "<code>x</code>s")]


@pytest.mark.parametrize(
    ("text", "translation", "lost"),
    [
        ("I paid 3.50 for 1,234 eggs.", "Ich habe 3,50 für 1.234 Eier bezahlt.", []),
        ("1,234,567 people", "1 234 567 personnes", []),
        ("I have 2 dogs.", "Ich habe zwei Hunde.", []),
        ("I have 25 dogs.", "Ich habe fünfundzwanzig Hunde.", []),
        ("I have 37 dogs.", "Ich habe 38 Hunde.", ["37"]),
        ("It was in 1987.", "Es war 1978.", ["1987"]),
        ("It was in 1987.", "Es war damals.", ["1987"]),
        ("3 and 3 and 4", "3 und 4 und drei", []),
        ("from 10:30 to 11", "von 10.30 bis 11", []),
        ("11.2 million in version 1.0.32", "112 Millionen in Version 10.32", ["11.2", "1.0.32"]),
        ("1,234,567.89 and 2500", "1.234.567,89 und 2.500", []),
        ("see a1987b", "siehe", ["1987"]),
    ],
)
def test_numbers_that_a_translation_does_not_have(text, translation, lost):
    assert [number.output for number in lost_numbers(text, [], translation)] == lost


def test_numbers_inside_of_regions_do_not_count():
    assert lost_numbers("see a1987b", [Region(4, 10, "a1987b")], "siehe") == []


@pytest.mark.parametrize("piece", ["a", "{", "%", "{a", "%(", "$", "a@", "http://", "{{", "1.", "a.", "-@"])
def test_a_long_text_takes_linear_time(piece):
    protected(piece * (100_000 // len(piece)), ["Acme"])  # minutes if it were quadratic


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("Acme", "keep: expected a list of str, got a str"),
        (["a", 1], r"keep\[1\]: expected a str"),
        ([" "], r"keep\[0\]: expected a word"),
    ],
)
def test_words_to_keep_are_a_list_of_words(keep, message):
    with pytest.raises(KerasZooError, match=message):
        check_keep(keep)

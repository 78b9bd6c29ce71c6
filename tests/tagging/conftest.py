"""Texts that an export could read otherwise than its tagger."""

import pytest


@pytest.fixture(scope="session")
def strange_texts():
    return [
        "",
        " \n\t ",
        "😀😀 👩‍👩‍👧‍👦 🇫🇷 httpſ://x.y/z? K\u212a",
        "Ada\u00a0Lovelace didn't fly to Buenos Aires... (New York?)",
        "a\u0301bc\u200bParis\ufeff\u2028x",
        "''t 'tis O'Neil's n't ’ ΣΑΣ straße ǅ B12 1,000.5",
        "Paris " * 1030,
        "a. " * 70,
        "\u200eParis\u200f, Pa\u00adris\u00ad: Pa\u200cris \ufeffHedy\u2060 Lamarr",
        "Paris\ufe0f, Pa\U000e0061ris \u2764\ufe0f Hedy\u180e Lamarr\u3164 1\ufe0f\u20e3",
        "In LOC , Kurt Gödel met\n\nHedy Lamarr!" * 3,
    ]

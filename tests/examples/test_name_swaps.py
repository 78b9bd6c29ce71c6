"""Sentences with other names: what is replaced, by what, and that tags stay on their names."""

import gzip

import name_swaps
import pytest

from keraszoo.text.tag_schemes import spans
from keraszoo.text.tagged_corpus import TaggedSentence

SENTENCE = TaggedSentence(
    ("Ada", "Lovelace", "left", "London", "and", "IBM", "for", "Big", "Blue", "with", "Bo", "."),
    ("B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "O", "B-ORG", "I-ORG", "O", "B-PER", "O"),
    document=3,
)


@pytest.fixture
def swaps(tmp_path):
    lists = {
        "firstnames.txt": "Zoë\nYan\n",
        "surnames_us.txt": "Okafor\nLind\n\n",
        "world-cities.csv": 'name,country\nSan José,CR\n"Oslo",NO\n',
    }
    for name, text in lists.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    return name_swaps.NameSwaps(tmp_path, [[SENTENCE]], seed=1)


def test_names_become_others_of_their_kind(swaps):
    drawn = {"PER": set(), "LOC": set(), "ORG": set()}
    others = [swaps(SENTENCE) for _ in range(300)]
    for other in others:
        words = [token for token, tag in zip(other.tokens, other.tags, strict=True) if tag == "O"]
        assert words == ["left", "and", "for", "with", "."] and other.document == 3
        found = spans(other.tags, "IOB2")
        assert [span.label for span in found] == ["PER", "LOC", "ORG", "ORG", "PER"]
        for span in found:
            drawn[span.label].add(" ".join(other.tokens[span.start : span.end]))
    assert drawn["LOC"] == {"London", "San José", "Oslo"}
    assert drawn["ORG"] == {"IBM", "Big Blue"}
    whole = {f"{first} {last}" for first in ("Zoë", "Yan") for last in ("Okafor", "Lind")}
    assert drawn["PER"] == whole | {"Ada Lovelace", "Bo", "Zoë", "Yan", "Okafor", "Lind"}
    kept = sum(other.tokens[:2] == SENTENCE.tokens[:2] for other in others)
    assert 120 < kept < 180  # half of them


def test_names_in_unusual_letters_stay(swaps):
    sentence = TaggedSentence(("bo", "met", "IBM"), ("B-PER", "O", "B-ORG"))
    assert all(swaps(sentence) == sentence for _ in range(50))

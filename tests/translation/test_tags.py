"""Tags and placeholders in the translations of included models, against hand-made gold."""

import random
import re
from pathlib import Path

import pytest

from keraszoo import Translator

DATA = Path(__file__).parent / "data"
MODELS = ("tatoeba_en_de_rnnsearch", "tatoeba_en_de_transformer")
PRETRAINED = Path(__file__).parents[2] / "pretrained"
pytestmark = [
    pytest.mark.skipif(not PRETRAINED.is_dir(), reason="pretrained/ is not here"),
    pytest.mark.parametrize(
        "name", [MODELS[0], pytest.param(MODELS[1], marks=pytest.mark.slow)], scope="module"
    ),
]


def lines(file):
    return [line for line in (DATA / file).read_text().splitlines() if not line.startswith("#")]


def gold(name):
    """(source, list of right answers) of a model."""
    column = 1 + MODELS.index(name)
    return [(row[0], row[column].split("\u00a6")) for row in (line.split("\t") for line in lines("tags.tsv"))]


@pytest.fixture(scope="module")
def translator(name):
    return Translator.from_preset(PRETRAINED / name)


def without_tags(text):
    return re.sub("<[^>]*>", "", text)


def test_tags_are_where_a_human_puts_them(translator, name):
    rows = gold(name)
    found = translator.translate([source for source, _ in rows], markup="html")
    judged = [
        one in answers
        for one, (_, answers) in zip(found, rows, strict=True)
        if without_tags(one) == without_tags(answers[0])  # the gold is of this translation
    ]
    assert len(judged) >= 76, "the model has changed: judge its translations again"
    assert sum(judged) >= 0.9 * len(judged)
    assert sum(judged[:50]) >= 45 - (80 - len(judged))


def tagged(text, draw):
    """Puts random tags with numbers around and between words, nested to any depth."""
    parts = text.split()
    for number in range(draw.randint(1, 6)):
        start = draw.randrange(len(parts))
        end = draw.randint(start + 1, len(parts))
        tag = draw.choice(["b", "i", "a", "br"])
        if tag == "br":
            parts[start] = f'<br id="{number}">{parts[start]}'
        else:
            parts[start:end] = [f'<{tag} id="{number}">{" ".join(parts[start:end])}</{tag}>']
    return " ".join(parts)


def tree(text):
    """The tags around each tag with a number."""
    found, inside = {}, []
    for slash, name, number in re.findall(r'<(/?)([bia])(?: id="(\d+)")?>', text):
        if slash:
            assert inside.pop()[0] == name
        else:
            found[number] = list(inside)
            inside.append((name, number))
    return found


@pytest.mark.slow
def test_generated_tags_come_out_once_and_nested_as_they_were(translator, name):
    draw, starts = random.Random(3), re.compile(r"<\w[^>]*>")
    sources = [without_tags(source) for source, _ in gold(name)]
    texts = [tagged(draw.choice(sources), draw) for _ in range(200)]
    for text, found in zip(texts, translator.translate(texts, markup="html", beam_width=1), strict=True):
        assert tree(found) == tree(text) and sorted(starts.findall(found)) == sorted(starts.findall(text))


KEPT = re.compile(
    r"\{\{\w+\}\}|\$?\{\w+\}|%(?:\d+\$)?[sd]|\$\d|https?://\S+[\w/]|www\.[\w.]+\w|[\w.]+@[\w.]+\w"
)


@pytest.mark.slow
def test_placeholders_and_addresses_come_out_once_and_unchanged(translator, name):
    texts = lines("placeholders.txt")
    assert len(texts) == 40
    for text, found in zip(texts, translator.translate(texts, markup="text"), strict=True):
        assert sorted(KEPT.findall(found)) == sorted(KEPT.findall(text))

"""Tags and placeholders in the translations of included models, against hand-made gold."""

import html.parser
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
    pytest.mark.parametrize("name", [MODELS[0], pytest.param(MODELS[1], marks=pytest.mark.slow)]),
]


def lines(file):
    return [line for line in (DATA / file).read_text().splitlines() if not line.startswith("#")]


def gold(name):
    """(source, list of right answers) of a model."""
    column = 1 + MODELS.index(name)
    return [(row[0], row[column].split("\u00a6")) for row in (line.split("\t") for line in lines("tags.tsv"))]


@pytest.fixture(scope="module")
def translators():
    return {}


@pytest.fixture
def translator(translators, name):
    if name not in translators:
        translators[name] = Translator.from_preset(PRETRAINED / name)
    return translators[name]


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


class Nesting(html.parser.HTMLParser):
    """The tags of a text; raises AssertionError unless they are nested."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append(self.get_starttag_text())
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tagged(words, draw, number, depth=0):
    """Random tags around and between words, nested to any depth, each with a number."""
    out, i = [], 0
    while i < len(words):
        length = draw.randint(1, len(words) - i)
        kind = draw.random()
        if kind < 0.35 and depth < 3:
            tag = draw.choice(["b", "i", "a"])
            inside = tagged(words[i : i + length], draw, number, depth + 1)
            number[0] += 1
            out.append(f'<{tag} id="{number[0]}">{inside}</{tag}>')
            i += length
        elif kind < 0.4:
            number[0] += 1
            out.append(f'<br id="{number[0]}">{words[i]}')
            i += 1
        else:
            out.append(words[i])
            i += 1
    return " ".join(out)


@pytest.mark.slow
def test_generated_tags_come_out_once_and_nested(translator, name):
    draw, number = random.Random(3), [0]
    sources = [without_tags(source) for source, _ in gold(name)]
    texts = [tagged(draw.choice(sources).split(), draw, number) for _ in range(200)]
    assert sum("<" in text for text in texts) > 150
    for text, found in zip(texts, translator.translate(texts, markup="html", beam_width=1), strict=True):
        assert sorted(Nesting(found).seen) == sorted(Nesting(text).seen)


KEPT = re.compile(
    r"\{\{\w+\}\}|\$?\{\w+\}|%(?:\d+\$)?[sd]|\$\d|https?://\S+[\w/]|www\.[\w.]+\w|[\w.]+@[\w.]+\w"
)


@pytest.mark.slow
def test_placeholders_and_addresses_come_out_once_and_unchanged(translator, name):
    texts = lines("placeholders.txt")
    assert len(texts) == 40
    for text, found in zip(texts, translator.translate(texts, markup="text"), strict=True):
        assert sorted(KEPT.findall(found)) == sorted(KEPT.findall(text))

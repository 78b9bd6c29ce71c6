"""Entities and attention as HTML: all of the text, in its order, and nothing that a browser would run."""

import html
import re

import pytest

from keraszoo.errors import KerasZooError
from keraszoo.plots.entity_html import COLOURS, attention_html, entities_html, html_page, save_html
from keraszoo.tagging.results import Entity, TaggedText
from keraszoo.text.tokens import Token

TEXT = '<b>Ada</b> & "Oslo"\nend'


@pytest.fixture
def details():
    places = [(0, 3), (3, 6), (6, 10), (11, 12), (13, 14), (14, 18), (18, 19), (20, 23)]
    return TaggedText(
        text=TEXT,
        entities=[Entity("Ada", "PER", 3, 6, 0.91, 0.5), Entity("Oslo", "LOC", 14, 18, 0.7, 0.2)],
        tokens=[Token(TEXT[start:end], start, end) for start, end in places],
        tags=[],
        probabilities=None,
        attention_weights=[0.1, 0.5, 0.1, 0.05, 0.05, 0.1, 0.1, 1.0],
        sentences=[(0, 7), (7, 8)],
    )


def shown(fragment):
    """What a reader sees."""
    return html.unescape(re.sub("<[^>]*>", "", re.sub("<small>.*?</small>", "", fragment)))


def test_the_whole_text_is_there_and_escaped(details):
    for fragment in (entities_html(details), attention_html(details)):
        assert shown(fragment) == TEXT
        assert "<b>" not in fragment and "&amp;" in fragment


def test_labels_have_colours_and_the_greatest_weight_is_the_darkest(details):
    fragment = entities_html(details)
    assert f'background: {COLOURS[0]}" title="0.700">Oslo<small>LOC' in fragment
    assert f'background: {COLOURS[1]}" title="0.910">Ada<small>PER' in fragment
    assert f"background: {COLOURS[0]}" in entities_html(details, ["PER", "LOC"]).split("Ada")[0]
    depths = re.findall(r", ([0-9.]+)\)\" title=\"([0-9.]+)\"", attention_html(details))
    tenth, twentieth, whole = ("0.20", "0.1000"), ("0.10", "0.0500"), ("1.00", "1.0000")
    assert depths == [tenth, ("1.00", "0.5000"), tenth, twentieth, twentieth, tenth, tenth, whole]


def test_a_page(details, tmp_path):
    page = html_page([details, details], attention=True, title="<x>")
    assert page.count("<p>") == page.count('<p class="attention">') == 2 and "<title>&lt;x&gt;" in page
    save_html(page, tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == page
    with pytest.raises(KerasZooError, match="cannot be written"):
        save_html(page, "/dev/null/page.html")


def test_texts_without_tags_or_attention_are_refused():
    with pytest.raises(KerasZooError, match="expected a TaggedText of `tag_details`, got 'Marie'"):
        html_page(["Marie"])
    with pytest.raises(KerasZooError, match="the model attends to nothing"):
        attention_html(TaggedText("", [], [], [], [], None, []))

"""What a notebook displays of a translation and of a tagged text, and their pictures."""

import re

import numpy as np
import pytest

from keraszoo.errors import KerasZooError
from keraszoo.plots import attention_table
from keraszoo.tagging.results import Entity, TaggedText
from keraszoo.text.tokens import Token
from keraszoo.translation.results import Translation

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "float32")
TARGET, SOURCE = ["\u2581<i", ">", "</s>"], ["\u2581a", "\u2581dog", "</s>"]


def translation(weights):
    return Translation("<i>", -0.5, TARGET, SOURCE, weights, [])


def tagged(weights, sentences=((0, 2),)):
    tokens = [Token("Ada", 0, 3), Token("<b>", 4, 7)]
    entities = [Entity("Ada", "PER", 0, 3, 0.9, None)]
    return TaggedText("Ada <b>", entities, tokens, ["B-PER", "O"], np.ones(2), weights, list(sentences))


def test_a_translation_is_shown_with_its_weights_between_words():
    page = translation(WEIGHTS)._repr_html_()
    assert page.startswith("<p>&lt;i&gt;</p><table>") and "<i>" not in page
    shown = re.findall(r'rgba\(8, 81, 156, (.{4})\)" title="(.{5})"', page)
    words = [0.25, 0.625, 0.125, 0, 0, 1]  # the first word has two subwords
    assert [float(number) for _, number in shown] == pytest.approx(words, abs=1e-3)
    assert [float(colour) for colour, _ in shown] == pytest.approx(words, abs=6e-3)
    assert re.findall("<th[^>]*>(.*?)</th>", page) == ["a", "dog", "&lt;/s&gt;", "&lt;i&gt;", "&lt;/s&gt;"]
    assert translation(None)._repr_html_() == "<p>&lt;i&gt;</p>"
    assert Translation("", 0.0, [], [], np.zeros((0, 0)), [])._repr_html_() == "<p></p>"
    with pytest.raises(KerasZooError, match="expected shape"):
        attention_table(["a"], ["b"], [[0.5, 0.5]])


def test_a_tagged_text_is_shown_with_its_entities_and_weights():
    page = tagged(None)._repr_html_()
    assert page.count("<p>") == 1 and "Ada<small>PER</small></mark> &lt;b&gt;</p>" in page
    assert tagged(np.array([0.9, 0.1]))._repr_html_().startswith(page + '<p class="attention">')


def test_pictures(tmp_path):
    figure = translation(WEIGHTS).plot(tmp_path / "words.png", title="T")
    assert figure._repr_png_().startswith(b"\x89PNG")  # which IPython asks for
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["<i>", "</s>"]
    assert (tmp_path / "words.png").read_bytes().startswith(b"\x89PNG")
    figure = translation(WEIGHTS).plot(subwords=True)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["<i", "·>", "</s>"]
    figure = tagged(np.array([0.6, 0.3])).plot()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["Ada [PER]", "<b>"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["0.60 ="]
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[1, 0.5]])
    for refused in (translation(None), tagged(None)):
        with pytest.raises(KerasZooError, match="there is no attention to draw"):
            refused.plot()
    with pytest.raises(KerasZooError, match="a picture shows one sentence, got 2"):
        tagged(np.array([0.9, 0.1]), [(0, 1), (1, 2)]).plot()

"""The component in a pipeline of spaCy: its entities are those of the tagger, at the same characters."""

import importlib
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from keraszoo import EntityTagger
from keraszoo.tagging.results import Entity

spacy = pytest.importorskip("spacy")
SENTENCES = [
    "Marie Curie lived in Paris.",
    "In Berlin/Germany, Ed Koch met the mayor of New-York's   suburbs.",
    "Angela  Merkel visited\n\nTokyo in 2015; the U.N. praised Japan🇯🇵.",
    "nothing here",
    "",
    "  ",
]


@pytest.fixture(scope="module")
def nlp():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, factory = project["entry-points"]["spacy_factories"]["keraszoo"].partition(":")
    assert callable(getattr(importlib.import_module(module), factory))  # what spaCy does with an entry point
    nlp = spacy.blank("en")
    nlp.add_pipe("keraszoo", config={"preset": "english_entities"})
    return nlp


def test_many_texts_have_the_entities_of_the_tagger(nlp):
    texts = [f"{SENTENCES[i % 6]} {SENTENCES[i % 5]}{'.' * (i % 3)}" for i in range(300)]
    expected = nlp.get_pipe("keraszoo").tagger.tag(texts)
    found = [[(e.label_, e.start_char, e.end_char, e.text) for e in doc.ents] for doc in nlp.pipe(texts)]
    assert found == [[(e.label, e.start, e.end, e.text) for e in entities] for entities in expected]
    assert sum(map(len, found)) > 300


def test_tokens_are_split_where_an_entity_begins_or_ends_inside_them():
    from keraszoo.tagging.spacy_component import SpacyEntities

    text, places = "Hello big-time world", [(1, 4), (6, 9), (10, 18)]
    entities = [Entity(text[a:b], "X", a, b, 1.0, None) for a, b in places]
    tagger = SimpleNamespace(tag=lambda texts, **options: [entities])
    doc = SpacyEntities(tagger)(spacy.blank("en")(text))
    assert [(e.start_char, e.end_char, e.text) for e in doc.ents] == [(a, b, text[a:b]) for a, b in places]
    assert [token.text for token in doc] == ["H", "ell", "o", "big", "-", "time", "wor", "ld"]
    assert doc.text == text


def test_span_groups_keep_their_characters_where_tokens_are_split():
    from keraszoo.tagging.spacy_component import _split_tokens

    doc = spacy.blank("en")("Paris/Texas and London in 2012")
    places = {"CITY": [(16, 22), (0, 11)], "YEAR": [(26, 30)], "all": [(0, 30), (16, 25)]}
    for label, spans in places.items():
        group = [doc.char_span(a, b, label, kb_id="Q84", span_id="x") for a, b in spans]
        doc.spans[label] = spacy.tokens.SpanGroup(doc, name=f"of {label}", attrs={"by": "hand"}, spans=group)
    doc.spans["none"] = []
    text = {label: [span.text for span in group] for label, group in doc.spans.items()}
    _split_tokens(doc, {5, 6, 18})
    assert [token.text for token in doc] == ["Paris", "/", "Texas", "and", "Lo", "ndon", "in", "2012"]
    assert {label: [span.text for span in group] for label, group in doc.spans.items()} == text
    for label, spans in places.items():
        group = doc.spans[label]
        assert [(span.start_char, span.end_char) for span in group] == spans
        assert {(span.label_, span.kb_id_, span.id_) for span in group} == {(label, "Q84", "x")}
        assert (group.name, group.attrs) == (f"of {label}", {"by": "hand"})


def test_evaluate_reports_the_f1_of_entities(monkeypatch):
    text, places = "Ed met Bob/Al in Rome", [(0, 2), (7, 10), (17, 21)]
    entities = [Entity(text[a:b], "X", a, b, 1.0, None) for a, b in places]
    tagger = SimpleNamespace(tag=lambda texts, **options: [entities] * len(texts))
    monkeypatch.setattr(EntityTagger, "from_preset", lambda preset, corpus: tagger)
    nlp = spacy.blank("en")
    nlp.add_pipe("keraszoo")
    assert nlp.get_pipe_meta("keraszoo").default_score_weights["ents_f"] == 1
    gold = {"entities": [(0, 2, "X"), (7, 10, "X"), (11, 13, "X"), (17, 21, "Y")]}
    words, spaces = "Ed met Bob / Al in Rome".split(), [True, True, False, False, True, True, False]
    reference = spacy.tokens.Doc(nlp.vocab, words, spaces)
    scores = nlp.evaluate([spacy.training.Example.from_dict(reference, gold)])
    assert (scores["ents_p"], scores["ents_r"]) == (pytest.approx(2 / 3), pytest.approx(2 / 4))
    assert scores["ents_f"] == pytest.approx(2 * 2 / (3 + 4)) and scores["ents_per_type"]["Y"]["f"] == 0


def test_a_split_token_keeps_its_place_in_the_parse():
    from keraszoo.tagging.spacy_component import _split_tokens

    doc = spacy.tokens.Doc(
        spacy.blank("en").vocab,
        words="He met Angela Merkel/Obama in Berlin-based firms .".split(),
        heads=[1, 1, 3, 1, 1, 6, 4, 1],
        deps=["nsubj", "ROOT", "compound", "dobj", "prep", "compound", "pobj", "punct"],
        tags=["PRP", "VBD", "NNP", "NNP", "IN", "JJ", "NNS", "."],
    )
    _split_tokens(doc, {20, 21})
    assert [token.text for token in doc][3:6] == ["Merkel", "/", "Obama"]
    assert len(list(doc.sents)) == 1 and [token.tag_ for token in doc][3:7] == ["NNP", "NNP", "NNP", "IN"]
    assert [token.head.text for token in doc][3:7] == ["met", "Merkel", "Merkel", "met"]


def test_a_saved_pipeline_is_loaded(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert [e.text for e in loaded(SENTENCES[0]).ents] == ["Marie Curie", "Paris"]


def test_settings_are_those_of_from_preset_and_tag(monkeypatch):
    with pytest.raises(ValueError, match="no_such_model: no such directory"):
        spacy.blank("en").add_pipe("keraszoo", config={"preset": "no_such_model"})
    asked, nlp = [], spacy.blank("en")
    tagger = SimpleNamespace(tag=lambda texts, **options: asked.append(options) or [[]])
    monkeypatch.setattr(EntityTagger, "from_preset", lambda *names: asked.append(names) or tagger)
    options = {"threshold": 0.6, "context": 5}
    nlp.add_pipe("keraszoo", config={"preset": "english_entities", "corpus": "web", **options})
    nlp(SENTENCES[0])
    assert asked == [("english_entities", "web"), options]

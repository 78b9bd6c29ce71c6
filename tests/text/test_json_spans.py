"""Texts with entities as JSON lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError
from keraszoo.text.json_spans import (
    AnnotatedText,
    Mention,
    mentions_of,
    read_spans,
    span_lines,
    tagged_texts,
)
from keraszoo.text.lines import write_lines
from keraszoo.text.tokens import tokenize

PIECES = [
    "Ed",
    "Koch's",
    "e\u0301te\u0301",
    "👩\u200d🚀",
    "\xa0",
    " ",
    ". ",
    "\n\n",
    "U.S.",
    "虎",
    "🇩🇪🇩🇪",
    "don't",
    ".",
    "-",
]


def test_there_and_back(tmp_path):
    texts = [
        AnnotatedText(
            '👩\u200d🚀 Ed\u2028\xa0Koch "x"', (Mention(0, 3, "a"), Mention(4, 11, "creative-work")), 1
        ),
        AnnotatedText("", (), 2),
        AnnotatedText("a\nb", (Mention(0, 1, "x"), Mention(1, 3, "x")), 3),
    ]
    write_lines(tmp_path / "texts", span_lines(texts))
    assert read_spans(tmp_path / "texts") == texts
    entities = '[{"label": "x", "start": 2, "end": 3}, {"end": 1, "start": 0, "label": "y", "p": 1}]'
    line = f'\ufeff{{"entities": {entities}, "text": "a b", "id": 7}}\r\n \r\n'
    (tmp_path / "by hand").write_bytes(line.encode())
    (found,) = read_spans(tmp_path / "by hand")
    assert found == AnnotatedText("a b", (Mention(0, 1, "y"), Mention(2, 3, "x")), 1)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.booleans()))
)
def test_entities_of_whole_tokens_come_back(parts):
    text, entities = "", []
    for part, is_entity in parts:
        tokens = tokenize(part)
        if is_entity and tokens:
            shift = len(text)
            entities.append(Mention(shift + tokens[0].start, shift + tokens[-1].end, "x"))
        text += part + " "
    annotated = AnnotatedText(text, tuple(entities))
    corpus = tagged_texts([annotated], sentences=False)
    assert (corpus.moved, corpus.dropped) == (0, 0)
    tags = corpus.sentences[0].tags if corpus.sentences else ()
    assert mentions_of(tokenize(text), tags) == annotated.entities
    whole = tagged_texts([annotated])
    assert [token for s in whole for token in s.tokens] == [token for s in corpus for token in s.tokens]
    assert [tag for s in whole for tag in s.tags] == list(tags)


def test_entities_inside_tokens():
    text = "US-China talks; Foo-Bar-Baz"
    entities = (Mention(0, 2, "a"), Mention(3, 8, "b"), Mention(14, 20, "c"), Mention(23, 27, "d"))
    corpus = tagged_texts([AnnotatedText(text, entities)])
    assert corpus.sentences[0].tags == ("B-a", "O", "B-c", "I-c") and (corpus.moved, corpus.dropped) == (2, 2)
    fine = tagged_texts([AnnotatedText(text, entities)], rules="alphanumeric")
    assert fine.sentences[0].tokens[:4] == ("US", "-", "China", "talks")
    assert fine.labels == ("a", "b", "c", "d") and (fine.moved, fine.dropped) == (0, 0)
    blank = tagged_texts([AnnotatedText("a  b", (Mention(1, 3, "x"), Mention(0, 2, "y")))])
    assert (blank.sentences[0].tags, blank.moved, blank.dropped) == (("B-y", "O"), 1, 1)


def test_sentences_and_documents():
    texts = [
        AnnotatedText("A b. C d. E", (Mention(2, 6, "x"),), 3),
        AnnotatedText(" \n", (), 4),
        AnnotatedText("F", (), 9),
    ]
    corpus = tagged_texts(texts)
    assert [(" ".join(s.tokens), s.document, s.line) for s in corpus] == [
        ("A b . C d .", 0, 3),  # not cut inside the entity
        ("E", 0, 3),
        ("F", 2, 9),
    ]
    assert tagged_texts(texts, sentences=False).sentences[0].tags == ("O", "B-x", "I-x", "I-x", "O", "O", "O")


def record(text="abc def", **entity):
    return json.dumps({"text": text, "entities": [{"start": 0, "end": 3, "label": "x"} | entity]})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: "),
        ("[1]", "expected an object with a \"text\", got '[1]'"),
        ('{"text": 5}', 'expected an object with a "text"'),
        ('{"text": "a"}', 'expected a list of "entities", got None'),
        ('{"text": "a", "entities": [[0, 1, "x"]]}', "expected an entity with start, end and label, got [0"),
        (r'{"text": "a\ud800", "entities": []}', "a lone surrogate at character 1"),
        (record(end=8), "expected an entity of places within 0 and 7, got 0 to 8"),
        (record(start=-1), "got -1 to 3"),
        (record(start=3), "got 3 to 3"),
        (record(start=True), "got True to 3"),
        (record(end=None), "got 0 to None"),
        (record(end=3.0), "got 0 to 3.0"),
        (record(label=""), "expected a label without blanks, got ''"),
        (record(label="a b"), "got 'a b'"),
        (record(label=None), "got None"),
        (
            record(text="a" * 9, **{"label": "x"}).replace("}]", '}, {"start": 2, "end": 5, "label": "y"}]'),
            "overlap, got (0, 3, 'x') and (2, 5, 'y')",
        ),
        (record(text="abcd").replace('"x"', '"x", "text": "abd"'), "expected 'abd' from 0 to 3, got 'abc'"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, message):
    path = tmp_path / "texts.jsonl"
    path.write_text(record() + "\n\n" + line + "\n")
    with pytest.raises(DataError) as caught:
        read_spans(path)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_a_file_without_texts(tmp_path):
    (tmp_path / "empty").write_bytes(b"\n")
    with pytest.raises(DataError, match="empty: expected texts with entities"):
        read_spans(tmp_path / "empty")

"""Texts with entities as JSON lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keraszoo.errors import DataError
from keraszoo.text.json_spans import read_spans
from keraszoo.text.lines import write_lines
from keraszoo.text.tag_schemes import spans
from keraszoo.text.tokens import tokenize

PIECES = ["Ed", "Koch's", "e\u0301te\u0301", "👩\u200d🚀", "\xa0", " ", ". ", "\n\n", "U.S.", "虎", "🇩🇪🇩🇪"]
PIECES += ["don't", ".", "-"]


def read(folder, *texts, rules="words"):
    """Writes texts with their entities, (start, end, label), and reads them."""
    lines = []
    for text, *entities in texts:
        values = [dict(zip(("start", "end", "label"), entity, strict=True)) for entity in entities]
        lines.append(json.dumps({"text": text, "entities": values}))
    write_lines(folder / "texts.jsonl", lines)
    return read_spans(folder / "texts.jsonl", rules)


def test_a_file_by_hand(tmp_path):
    entities = '[{"label": "x", "start": 2, "end": 3}, {"end": 1, "start": 0, "label": "y", "p": 1}]'
    line = f'\ufeff{{"entities": {entities}, "text": "a b", "id": 7}}\r\n \r\n'
    (tmp_path / "by hand").write_bytes(line.encode())
    (sentence,) = read_spans(tmp_path / "by hand")
    assert (sentence.tokens, sentence.tags, sentence.line) == (("a", "b"), ("B-y", "B-x"), 1)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.booleans()))
)
def test_entities_of_whole_tokens_come_back(tmp_path_factory, parts):
    text, entities = "", []
    for part, is_entity in parts:
        tokens = tokenize(part)
        if is_entity and tokens:
            entities.append((len(text) + tokens[0].start, len(text) + tokens[-1].end, "x"))
        text += part + " "
    corpus = read(tmp_path_factory.mktemp("any"), (text, *entities))
    assert (corpus.moved, corpus.dropped) == (0, 0)
    tokens = tokenize(text)
    assert [token for s in corpus for token in s.tokens] == [token.text for token in tokens]
    tags = [tag for sentence in corpus for tag in sentence.tags]
    places = [(tokens[span.start].start, tokens[span.end - 1].end, "x") for span in spans(tags, "IOB2")]
    assert places == entities


def test_entities_inside_tokens(tmp_path):
    text = "US-China talks; Foo-Bar-Baz", (0, 2, "a"), (3, 8, "b"), (14, 20, "c"), (23, 27, "d")
    corpus = read(tmp_path, text)
    assert corpus.sentences[0].tags == ("B-a", "O", "B-c", "I-c") and (corpus.moved, corpus.dropped) == (2, 2)
    fine = read(tmp_path, text, rules="alphanumeric")
    assert fine.sentences[0].tokens[:4] == ("US", "-", "China", "talks")
    assert fine.labels == ("a", "b", "c", "d") and (fine.moved, fine.dropped) == (0, 0)
    blank = read(tmp_path, ("a   b", (2, 4, "x"), (0, 2, "y")))
    assert (blank.sentences[0].tags, blank.moved, blank.dropped) == (("B-y", "O"), 1, 1)


def test_sentences_and_documents(tmp_path):
    corpus = read(tmp_path, ("A b. C d. E", (2, 6, "x")), (" \n",), ("F",))
    assert [(" ".join(s.tokens), s.document, s.line) for s in corpus] == [
        ("A b . C d .", 0, 1),  # no sentence ends inside the entity
        ("E", 0, 1),
        ("F", 2, 3),
    ]
    assert corpus.sentences[0].tags == ("O", "B-x", "I-x", "I-x", "O", "O")
    # a sentence that begins inside the last token
    path = tmp_path / "texts.jsonl"
    path.write_text(record(text="See www.x.com！ok", label="x") + "\n", encoding="utf-8")
    (sentence,) = read_spans(path).sentences
    assert sentence.tokens == ("See", "www.x.com！ok")


def record(text="abc def", **entity):
    return json.dumps({"text": text, "entities": [{"start": 0, "end": 3, "label": "x"} | entity]})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: "),
        ("[1]", "expected an object with a \"text\", got '[1]'"),
        ('{"text": 5}', 'expected an object with a "text"'),
        ('{"text": "a"}', 'expected a list of "entities", got None'),
        ('{"text": "a", "entities": [[0, 1]]}', "expected an entity with start, end and label, got [0"),
        ('{"text": "a", "label": ["sport"]}', "expected an entity with start, end and label, got 'sport'"),
        ('{"tokens": ["a"], "ner_tags": [3]}', "expected names of tags, got [3]; `dataset.features["),
        ('{"tokens": ["a"], "ner_tags": []}', "expected a tag for each of 1 tokens, got 0"),
        ('{"tokens": ["a"], "ner_tags": ["PER"]}', "expected a tag such as O, B-PER or I-PER, got 'PER'"),
        (r'{"text": "a\ud800", "entities": []}', "a lone surrogate at character 1"),
        (record(end=8), "expected start and end within 0 and 7, got 0 and 8"),
        (record(start=-1), "got -1 and 3"),
        (record(start=3), "got 3 and 3"),
        (record(start=True), "got True and 3"),
        (record(end=3.0), "got 0 and 3.0"),
        (record(label="a b"), "expected a label without blanks, got 'a b'"),
        (record(label=None), "got None"),
        (
            record(text="a" * 9, **{"label": "x"}).replace("}]", '}, {"start": 2, "end": 5, "label": "y"}]'),
            "overlap, got (0, 3, 'x') and (2, 5, 'y')",
        ),
        (record(text="abcd").replace('"x"', '"x", "text": "abd"'), "expected 'abd' from 0 to 3, got 'abc'"),
        ("[" * 100_000, "not JSON"),
        ("", "expected texts with entities"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, message):
    path = tmp_path / "texts.jsonl"
    path.write_text(f"{record()}\n\n{line}\n" if line else "\n")
    with pytest.raises(DataError) as caught:
        read_spans(path)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, 3 if line else None)


def test_long_sentences_are_cut_between_entities(tmp_path):
    words = [f"w{i}" for i in range(1300)]
    places = [(510, 514), (514, 1100)]  # the second entity is longer than a sentence may be
    starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words) + 1)]
    entities = [(starts[first], starts[end] - 1, "x") for first, end in places]
    corpus = read(tmp_path, (" ".join(words), *entities))
    assert [len(sentence.tokens) for sentence in corpus] == [510, 4, 586, 200]
    assert [token for sentence in corpus for token in sentence.tokens] == words
    assert [sentence.tags[0] for sentence in corpus] == ["O", "B-x", "B-x", "O"]


@pytest.mark.parametrize(("words", "lengths"), [(512, [512]), (513, [512, 1])])
def test_a_sentence_of_the_greatest_length_stays_whole(tmp_path, words, lengths):
    corpus = read(tmp_path, (" ".join(["w"] * words), (0, 1, "x")))
    assert [len(sentence.tokens) for sentence in corpus] == lengths


@pytest.mark.parametrize(
    "record",
    [
        {"text": "Ed Koch ran.", "label": [[0, 7, "PER"]]},  # doccano
        {"text": "Ed Koch ran.", "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 7}]},
        {
            "text": "Ed Koch ran.",
            "tokens": [{"text": "Ed", "start": 0, "end": 2, "id": 0}],
            "spans": [{"start": 0, "end": 7, "token_start": 0, "token_end": 1, "label": "PER"}],
            "answer": "accept",
        },  # Prodigy
        ["Ed Koch ran.", {"entities": [[0, 7, "PER"]]}],  # spaCy
        {"text": "Ed Koch ran.", "entities": [[0, 7, "PER"]]},
        {"id": "0", "tokens": ["Ed", "Koch", "ran", "."], "ner_tags": ["B-PER", "I-PER", "O", "O"]},
        {"tokens": ["Ed", "Koch", "ran", "."], "tags": ["B-PER", "E-PER", "O", "O"]},
    ],
)
def test_the_forms_of_other_programs(tmp_path, record):
    write_lines(tmp_path / "a.jsonl", [json.dumps(record)] * 2)
    corpus = read_spans(tmp_path / "a.jsonl")
    assert len(corpus) == 2 and corpus.changes() == [] and corpus[1].line == 2
    assert corpus[0].tokens == ("Ed", "Koch", "ran", ".") and corpus[0].tags == ("B-PER", "I-PER", "O", "O")
    assert corpus.from_texts == ("text" in record or isinstance(record, list))


def test_texts_that_were_not_accepted_are_counted(tmp_path):
    answers = "reject", "accept", "ignore"
    records = [{"text": "Ed", "spans": [], "answer": answer} for answer in answers]
    write_lines(tmp_path / "a.jsonl", map(json.dumps, records))
    corpus = read_spans(tmp_path / "a.jsonl")
    assert len(corpus) == 1 and corpus.changes() == ["2 texts that were not accepted skipped"]

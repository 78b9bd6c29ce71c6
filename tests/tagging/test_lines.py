"""Lines through a tagger: as many answers as there should be, and nothing lost of what came in."""

import json

import pytest

from keraszoo.errors import DataError, KerasZooError
from keraszoo.tagging.lines import (
    as_columns,
    bracketed,
    json_line,
    json_line_with_attention,
    tag_columns,
    tag_lines,
)

TEXT = "In Paris, Kurt Gödel met\u2028Hedy Lamarr. Nobody knew."


def flat(chunks):
    return [line for some in chunks for line in some]


def test_one_object_a_line_whatever_the_chunk(trained_tagger):
    lines = [TEXT, "", "New York"]
    together = first, blank, last = list(map(json.loads, flat(tag_lines(trained_tagger, lines, json_line))))
    alone = list(map(json.loads, flat(tag_lines(trained_tagger, lines, json_line, chunk=1))))
    for line, other in zip(together, alone, strict=True):
        assert (line.keys(), line["text"]) == (other.keys(), other["text"])
        for entity, wanted in zip(line["entities"], other["entities"], strict=True):
            assert entity == pytest.approx(wanted, abs=1e-6)  # another batch, another last digit
    assert first["text"] == TEXT and blank == {"text": "", "entities": []}
    assert [TEXT[e["start"] : e["end"]] for e in first["entities"]] == ["Paris", "Kurt Gödel", "Hedy Lamarr"]
    assert last["entities"][0]["label"] == "LOC"


def test_keys_of_json_lines_are_kept(trained_tagger):
    lines = [json.dumps({"id": 7, "entities": "old", "text": "New York"})]
    (answer,) = flat(tag_lines(trained_tagger, ["", *lines, " "], json_line, as_json=True))
    assert list(json.loads(answer)) == ["id", "entities", "text"]
    assert json.loads(answer)["entities"][0]["text"] == "New York"
    (answer,) = flat(tag_lines(trained_tagger, lines, json_line_with_attention, as_json=True))
    record = json.loads(answer)
    assert record["id"] == 7 and sum(record["attention_weights"]) == pytest.approx(1, abs=1e-4)
    assert record["tags"] == ["B-LOC", "I-LOC"] and record["sentences"] == [[0, 2]]


def test_text_to_be_read_and_columns(trained_tagger):
    (line,) = flat(tag_lines(trained_tagger, [TEXT], bracketed))
    assert line == "In [LOC Paris], [PER Kurt Gödel] met [PER Hedy Lamarr]. Nobody knew."
    lines = flat(tag_lines(trained_tagger, ["In New York. Nobody!", " "], as_columns))
    words = ["In\tO", "New\tB-LOC", "York\tI-LOC", ".\tO", "", "Nobody\tO", "!\tO", "", ""]
    assert lines == words


def test_files_of_columns_keep_their_lines(trained_tagger, tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("-DOCSTART- O\n\nIn IN x\nNew  NNP y\nYork NNP\u00a0 z\n\n\nParis NNP w")
    lines = flat(tag_columns(trained_tagger, [file]))
    tagged = ["In IN x O", "New  NNP y B-LOC", "York NNP\u00a0 z I-LOC", "", "", "Paris NNP w B-LOC"]
    assert lines == ["-DOCSTART- O", "", *tagged]
    records = [json.loads(line) for line in flat(tag_columns(trained_tagger, [file], json_line))]
    assert [record["text"] for record in records] == ["In New York", "Paris"]
    assert [(e["start"], e["end"]) for e in records[0]["entities"]] == [(3, 11)]


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"text": 3}', "{}"])
def test_lines_that_are_no_objects(trained_tagger, line):
    with pytest.raises(DataError, match='lines:2: expected a JSON object with a "text"'):
        flat(tag_lines(trained_tagger, ['{"text": ""}', line], json_line, as_json=True))


def test_lines_that_would_be_lost(trained_tagger):
    for lines, chunk, said in ((["Rome"], 0, "chunk"), (["Rome"], -1, "chunk"), ("Rome", 1, "got one str")):
        with pytest.raises(KerasZooError, match=said):
            list(tag_lines(trained_tagger, lines, bracketed, chunk=chunk))

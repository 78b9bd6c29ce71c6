"""The program of an ONNX export says what the tagger says, without keraszoo."""

import json
import sys

import pytest

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.tagging import onnx_program
from keraszoo.tagging.lines import json_line
from keraszoo.tagging.onnx_export import tokens
from keraszoo.text.tagging_features import TaggingVocabulary
from keraszoo.text.tokens import TOKEN_RULES, sentence_tokens


@pytest.mark.parametrize("rules", TOKEN_RULES)
def test_the_program_splits_words_at_the_same_characters(rules, characters_of_every_kind):
    program = object.__new__(onnx_program.Tagger)
    vars(program).update(tokens(TaggingVocabulary(["a"], "a", ["LOC"], token_rules=rules)))
    for some in characters_of_every_kind:
        text = "\n\n".join(f"a{c}b" for c in some)
        assert list(program.split(text)) == [[tuple(t) for t in s] for s in sentence_tokens(text, rules)]


def test_the_program_reads_characters_as_the_tagger(characters_of_every_kind):
    vocabulary = TaggingVocabulary(["a", "ab"], "ab", ["LOC"])
    program = object.__new__(onnx_program.Tagger)
    vars(program).update(tokens(vocabulary))
    words = [f"a{c}b" for some in characters_of_every_kind[:20] for c in some]
    features = vocabulary.encode([[word] for word in words])
    for word, row in zip(words, range(len(words)), strict=True):
        ids, casing, *characters = program.ids(word)
        assert (ids, casing) == (features["words"][row, 0], features["casing"][row, 0]), word
        assert characters == features["characters"][row, 0, : len(characters)].tolist(), word


@pytest.fixture(scope="module")
def exported(trained_tagger, tmp_path_factory):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tf2onnx")
    directory = tmp_path_factory.mktemp("onnx") / "exported"
    trained_tagger.export(directory, format="onnx")
    return directory


def test_the_program_prints_the_json_of_the_command(
    exported, trained_tagger, other_sentences, printed_without_keras
):
    program = exported / "tag.py"
    assert len(program.read_text().splitlines()) <= 130
    texts = ["", "Ada didn’t see Zürich in 東京.", *(" ".join(s.tokens) for s in other_sentences)]
    printed = printed_without_keras(program, texts, "regex")
    answers = [json.loads(line) for line in printed.splitlines()]
    assert [answer["text"] for answer in answers] == texts
    wanted = [json.loads(json_line(found, {})[0]) for found in trained_tagger.tag_details(texts)]
    assert sum(len(answer["entities"]) for answer in wanted) > 3
    for answer, same in zip(answers, wanted, strict=True):
        for entity, ours in zip(answer["entities"], same["entities"], strict=True):
            assert list(entity) == list(ours)
            assert entity == pytest.approx(ours, abs=1e-5)


def test_verification(exported, trained_tagger, new_tagger, strange_texts):
    assert trained_tagger.verify_export(exported, strange_texts) == len(strange_texts)
    with pytest.raises(KerasZooError, match=r"text \d: tags are .* in the export"):
        new_tagger(scheme="BIOES").verify_export(exported, strange_texts)


VARIANTS = [
    {"model": "recurrent", "configuration": "tiny", "characters": "lstm", "attention_heads": 2},
    {"model": "recurrent", "configuration": "plain", "scheme": "IOB2", "backoff": ("digits#", "capital")},
    {"model": "transformer", "configuration": "tiny", "positions": "relative", "casing_dim": 3},
    {"model": "attention", "configuration": "base", "context": "scaled", "crf": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: options["model"])
def test_every_kind_of_tagger(tagged_sentences, options, tmp_path, strange_texts):
    pytest.importorskip("tf2onnx")
    tagger = EntityTagger.for_sentences(tagged_sentences, **options)
    tagger.export(tmp_path / "exported", format="onnx")
    assert tagger.verify_export(tmp_path / "exported", strange_texts) == len(strange_texts)


def test_what_cannot_be_exported(trained_tagger, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(KerasZooError, match=r"pip install 'keraszoo\[onnx\]'"):
        trained_tagger.export(tmp_path / "x", format="onnx")
    assert not any(tmp_path.iterdir())

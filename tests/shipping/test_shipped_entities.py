"""The shipped taggers and word vectors give their golden answers, on every backend."""

import json
from pathlib import Path

import pytest

from keraszoo import EntityTagger
from keraszoo.text.word_vectors import WordVectors

ADA = [("Ada Lovelace", "PER"), ("London", "LOC")]
ENGLISH = [
    (
        "Ada Lovelace was born in London and wrote to Charles Babbage at the University of Cambridge.",
        [*ADA, ("Charles Babbage", "PER"), ("University of Cambridge", "ORG")],
    ),
    (
        "In winter \N{SNOWMAN}, Marie Curie moved from Warsaw to Paris, where she studied.",
        [("Marie Curie", "PER"), ("Warsaw", "LOC"), ("Paris", "LOC")],
    ),
    ("It rained all day.", []),
]
GOLDEN = {
    "english_entities": ENGLISH,
    "english_entities_minilm": ENGLISH,
    "biomedical_entities": [
        ("Aspirin may cause asthma.", [("Aspirin", "Chemical"), ("asthma", "Disease")]),
        (
            "Two patients developed acute renal failure after treatment with cisplatin.",
            [("acute renal failure", "Disease"), ("cisplatin", "Chemical")],
        ),
        ("It rained all day.", []),
    ],
}


@pytest.fixture(scope="module", params=GOLDEN)
def name(request):
    return request.param


def test_they_find_what_they_found(name):
    found = EntityTagger.from_preset(name).tag([text for text, _ in GOLDEN[name]])
    for (text, wanted), entities in zip(GOLDEN[name], found, strict=True):
        assert [(entity.text, entity.label) for entity in entities] == wanted
        assert all(text[entity.start : entity.end] == entity.text for entity in entities)
        assert all(0 < entity.probability <= 1 for entity in entities)


CODE = """
import json, sys
from keraszoo import EntityTagger
tagger = EntityTagger.from_preset(sys.argv[1])
print(json.dumps([[(e.text, e.label) for e in entities] for entities in tagger.tag(json.load(sys.stdin))]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_they_find_the_same_on_another_backend(name, backend, on_backend):
    texts = json.dumps([text for text, _ in GOLDEN[name]])
    said = on_backend(backend, CODE, name, input=texts, cwd=Path(__file__).parents[2])
    answers = json.loads(said.splitlines()[-1])
    assert [[tuple(entity) for entity in entities] for entities in answers] == [it for _, it in GOLDEN[name]]


@pytest.mark.parametrize(
    ("name", "size", "word", "nearest"),
    [
        ("english_words", 110_215, "river", ["valley", "lake", "River"]),
        ("biomedical_words", 97_948, "hypertension", ["renovascular", "arteriosclerosis", "congestive"]),
    ],
)
def test_word_vectors_have_the_neighbours_that_they_had(name, size, word, nearest):
    vectors = WordVectors.read(name)
    assert (len(vectors), vectors.width) == (size, 200)
    assert [other for other, _ in vectors.neighbours(word, 3)] == nearest

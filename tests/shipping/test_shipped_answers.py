"""The included models answer, tag and translate as they always did, on every backend."""

import json
from pathlib import Path

import pytest

from keraszoo import EntityTagger, QuestionAnswerer
from keraszoo.text.word_vectors import WordVectors

QUESTIONS = [
    (
        "Mary got the milk there. John moved to the bedroom. Mary travelled to the hallway.",
        "Where is the milk?",
        "hallway",
    ),
    ("John went to the kitchen. Sandra moved to the garden.", "Where is John?", "kitchen"),
    ("Mary moved to the office. Mary went back to the bathroom.", "Is Mary in the office?", "no"),
    ("Mary is either in the school or the bedroom.", "Is Mary in the school?", "maybe"),
]


def sentences_of(story):
    return [f"{sentence.strip('. ')}." for sentence in story.split(". ")]


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
TAGGED = {
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


@pytest.fixture(scope="module")
def answerer():
    return QuestionAnswerer.from_preset("babi_memory_network")


@pytest.mark.parametrize(("story", "question", "answer"), QUESTIONS)
def test_the_answer_is_the_golden_one(answerer, story, question, answer):
    sentences = sentences_of(story)
    answered = answerer.answer(sentences, question)
    hops = answered.attention_weights
    assert answered.text == answer and hops.shape == (3, len(sentences))
    if answer == "hallway":  # where the milk is follows from who has it, and then from where she went
        assert hops[0].argmax() == 0 and hops[-1].argmax() == 2


@pytest.mark.parametrize("name", TAGGED)
def test_taggers_find_what_they_found(name):
    found = EntityTagger.from_preset(name).tag([text for text, _ in TAGGED[name]])
    for (text, wanted), entities in zip(TAGGED[name], found, strict=True):
        assert [(entity.text, entity.label) for entity in entities] == wanted
        assert all(text[entity.start : entity.end] == entity.text for entity in entities)
        assert all(0 < entity.probability <= 1 for entity in entities)


CODE = """
import json, sys
from keraszoo import EntityTagger, QuestionAnswerer, Translator
questions, texts, sentence, translators = json.load(sys.stdin)
answerer = QuestionAnswerer.from_preset("babi_memory_network")
found = {name: EntityTagger.from_preset(name).tag(some) for name, some in texts.items()}
print(json.dumps([
    [answerer.answer(story, question).text for story, question in questions],
    {name: [[(e.text, e.label) for e in entities] for entities in some] for name, some in found.items()},
    [Translator.from_preset(name).translate([sentence], beam_width=1)[0] for name in translators],
]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_all_is_the_same_on_another_backend(backend, on_backend):
    questions = [(sentences_of(story), question) for story, question, _ in QUESTIONS]
    texts = {name: [text for text, _ in golden] for name, golden in TAGGED.items()}
    translators = [f"tatoeba_en_de_{kind}" for kind in ("luong", "rnnsearch", "transformer")]
    given = json.dumps([questions, texts, "Where did you park the car?", translators])
    said = on_backend(backend, CODE, input=given, cwd=Path(__file__).parents[2])
    answers, found, translations = json.loads(said.splitlines()[-1])
    assert answers == [answer for *_, answer in QUESTIONS]
    for name, golden in TAGGED.items():
        assert [[tuple(entity) for entity in some] for some in found[name]] == [it for _, it in golden]
    assert translations == ["Wo hast du das Auto geparkt?"] * 3


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

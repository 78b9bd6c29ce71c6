"""The shipped memory network gives its golden answers and attention, on every backend."""

import json
from pathlib import Path

import pytest

from keraszoo import QuestionAnswerer

NAME = "babi_memory_network"
GOLDEN = [
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


@pytest.fixture(scope="module")
def answerer():
    return QuestionAnswerer.from_preset(NAME)


@pytest.mark.parametrize(("story", "question", "answer"), GOLDEN)
def test_the_answer_is_the_golden_one(answerer, story, question, answer):
    sentences = sentences_of(story)
    answered = answerer.answer(sentences, question)
    hops = answered.attention_weights
    assert answered.text == answer and hops.shape == (3, len(sentences))
    if answer == "hallway":  # where the milk is follows from who has it, and then from where she went
        assert hops[0].argmax() == 0 and hops[-1].argmax() == 2


CODE = """
import json, sys
from keraszoo import QuestionAnswerer
answerer = QuestionAnswerer.from_preset("babi_memory_network")
print(json.dumps([answerer.answer(story, question).text for story, question in json.load(sys.stdin)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_answers_are_equal_on_another_backend(backend, on_backend):
    questions = [(sentences_of(story), question) for story, question, _ in GOLDEN]
    said = on_backend(backend, CODE, input=json.dumps(questions), cwd=Path(__file__).parents[2])
    assert json.loads(said.splitlines()[-1]) == [answer for *_, answer in GOLDEN]

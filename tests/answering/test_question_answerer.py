"""Questions about a little world: learned in seconds, answered, saved, read again."""

import random

import numpy as np
import pytest

from keraszoo.answering.question_answerer import QuestionAnswerer
from keraszoo.errors import DataError, KerasZooError, PresetError
from keraszoo.models import MemoryNetwork
from keraszoo.saving import model_directory
from keraszoo.text.babi import Question
from keraszoo.text.vocabulary import Vocabulary

PEOPLE, PLACES = ["Mary", "John", "Ann"], ["kitchen", "garden", "hall", "office"]
QUICK = {"epochs": 30, "linear_epochs": 10, "halve_every": 15, "restarts": 2}


def make_questions(count, seed):
    """Who went where, and where somebody is who went somewhere."""
    draw, questions = random.Random(seed), []
    for _ in range(count):
        moves = [(draw.choice(PEOPLE), draw.choice(PLACES)) for _ in range(draw.randint(1, 5))]
        who = draw.choice(moves)[0]
        last = max(i for i, (name, _) in enumerate(moves) if name == who)
        story = tuple(f"{name} went to the {place}." for name, place in moves)
        questions.append(Question(story, f"Where is {who}?", moves[last][1], (last,)))
    return questions


@pytest.fixture(scope="module")
def fitted():
    """A trained answerer, and the figures of its starts."""
    questions = make_questions(400, seed=0)
    answerer = QuestionAnswerer.for_questions(questions, width=12, hops=2, memory_size=5)
    return answerer, answerer.fit(questions, **QUICK)


@pytest.fixture
def saved(fitted, tmp_path):
    fitted[0].save_to_preset(tmp_path / "model")
    return tmp_path / "model"


def test_learns_the_world_and_looks_at_the_supporting_facts(fitted):
    answerer, starts = fitted
    test = make_questions(200, seed=1)
    assert answerer.error_rate(test) < 5
    looked = [answer.attention_weights.sum(axis=0).argmax() for answer in answerer.answer_all(test)]
    assert np.mean([i in q.supporting for i, q in zip(looked, test, strict=True)]) > 0.9
    assert [start["seed"] for start in starts] == [1, 2]
    best = min(starts, key=lambda start: 0.9 * start["loss"] + 0.1 * start["validation_loss"])
    assert answerer.metrics["training"] == {"questions": 360, "restarts": 2, **best}
    assert float(answerer.model.linear) == 0


def test_an_answer(fitted):
    answerer, _ = fitted
    answer = answerer.answer(["Mary went to the garden.", "John went to the hall."], "where is mary")
    assert answer.text == "garden" and 0.5 < answer.probability <= 1
    assert answer.sentences == ("Mary went to the garden.", "John went to the hall.")
    answerer.require_attention()  # raises no error
    assert answer.attention_weights.shape == (2, 2)
    assert (answer.attention_weights.sum(axis=1) <= 1 + 1e-5).all()
    nothing = answerer.answer([], "Where is Mary?")
    assert nothing.sentences == () and nothing.attention_weights.shape == (2, 0)
    unknown = Question(("Mary went to the garden.",), "Where is Mary?", "cellar")
    assert answerer.error_rate([unknown]) == 100


def test_answers_do_not_depend_on_each_other(fitted):
    answerer, _ = fitted
    test = make_questions(20, seed=3)
    for question, together in zip(test, answerer.answer_all(test), strict=True):
        alone = answerer.answer(list(question.story), question.text)
        assert alone.text == together.text
        assert alone.probability == pytest.approx(together.probability, abs=1e-5)
        np.testing.assert_allclose(alone.attention_weights, together.attention_weights, atol=1e-5)


def test_of_a_long_story_the_last_sentences_are_remembered(fitted):
    answerer, _ = fitted
    story = ["Mary went to the garden."] * 7 + ["Mary went to the hall."]
    answer = answerer.answer(story, "Where is Mary?")
    assert answer.sentences == tuple(story[-5:]) and answer.attention_weights.shape == (2, 5)
    short = answerer.answer(story[-5:], "Where is Mary?")
    assert (answer.text, answer.probability) == (short.text, pytest.approx(short.probability, abs=1e-6))


@pytest.mark.parametrize(
    ("story", "question", "said"),
    [
        (["Bob went to the hall."], "Where is Mary?", "'Bob went to the hall.': unknown word 'bob'"),
        (["Mary went to the hall."], "Who is Mary?", "'Who is Mary[?]': unknown word 'who'"),
        (["Mary went to the hall."], "?", "expected a sentence with a word in it, got '[?]'"),
        ([""], "Where is Mary?", "expected a sentence with a word in it, got ''"),
        ("Mary went to the hall.", "Where is Mary?", "expected a list of str and a str"),
        ([3], "Where is Mary?", "expected a list of str and a str"),
        (iter(["Mary went to the hall."]), "Where is Mary?", "expected a list of str and a str"),
        ([], None, "expected a list of str and a str"),
    ],
)
def test_questions_that_cannot_be_answered(fitted, story, question, said):
    with pytest.raises(KerasZooError, match=said):
        fitted[0].answer(story, question)


def test_the_same_seed_gives_the_same_training_after_which_earlier_figures_are_forgotten():
    questions, weights = make_questions(60, seed=4), []
    options = {"epochs": 2, "linear_epochs": 0, "restarts": 2, "jit_compile": False}
    for _ in range(2):
        answerer = QuestionAnswerer.for_questions(questions, width=6, hops=1, memory_size=5)
        answerer.metrics = {"test error, per cent": {"mean": 12.0}}
        starts = answerer.fit(questions, seed=2**32 - 1, **options)  # the greatest seed has a next one
        assert len(starts) == 2 and np.isfinite(starts[0]["loss"])
        weights.append(answerer.model.get_weights())
        assert list(answerer.metrics) == ["training"]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epochs": 0}, "fit: epochs: expected greater than or equal to 1, got 0"),
        ({"restarts": 1.5}, "fit: restarts: expected a valid integer, got 1.5"),
        ({"linear_epochs": -1}, "fit: linear_epochs: expected greater than or equal to 0"),
        ({"validation_share": 1}, "fit: validation_share: expected less than 1, got 1"),
        ({"batch_size": 100}, "expected at least 100 questions to train on, got 54, and 6"),
        ({"epoch": 3}, "fit: epoch: unknown key, did you mean epochs"),
    ],
)
def test_settings_out_of_range(fitted, settings, said):
    with pytest.raises(KerasZooError, match=said):
        fitted[0].fit(make_questions(60, seed=6), **settings)


def test_invalid_questions_raise_errors(fitted):
    for method in (fitted[0].fit, fitted[0].error_rate):
        with pytest.raises(DataError, match="expected at least one, got none"):
            method([])
    for method in (fitted[0].fit, fitted[0].error_rate, fitted[0].answer_all):
        with pytest.raises(DataError, match="questions: expected a list of Question objects, got "):
            method(["Where is Mary?"])
    with pytest.raises(DataError, match="expected a list of Question of keraszoo.text.babi, got"):
        QuestionAnswerer.for_questions([("story", "question", "answer")])


def test_vocabulary_and_model_must_fit():
    with pytest.raises(KerasZooError, match="the vocabulary has 2 ids, the model 3"):
        QuestionAnswerer(MemoryNetwork(3), Vocabulary(["a"]))
    with pytest.raises(KerasZooError, match="the vocabulary pads with 0, the model with 1"):
        QuestionAnswerer(MemoryNetwork(2, pad_id=1), Vocabulary(["a"]))


def test_a_saved_answerer_is_read_again_and_trains(fitted, saved):
    answerer, again = fitted[0], QuestionAnswerer.from_preset(saved)
    test = make_questions(20, seed=7)
    for ours, theirs in zip(answerer.answer_all(test), again.answer_all(test), strict=True):
        assert (ours.text, ours.probability) == (theirs.text, theirs.probability)
        np.testing.assert_array_equal(ours.attention_weights, theirs.attention_weights)
    assert again.metrics == answerer.metrics and again.vocabulary == answerer.vocabulary
    names = model_directory.read_directory(saved).names
    assert names == ["README.md", "config.json", "metrics.json", "model.safetensors", "words.txt"]
    card = (saved / "README.md").read_text()
    assert "# MemoryNetwork, 2 hops" in card and "validation_loss" in card
    short = {"epochs": 1, "linear_epochs": 1, "restarts": 1, "jit_compile": False}
    assert len(again.fit(make_questions(60, seed=8), **short)) == 1


@pytest.mark.parametrize(
    ("words", "said"), [("a\na\n", "twice"), ("a\n", "the vocabulary has 2 ids"), (b"\xff\n", "utf-8")]
)
def test_an_invalid_vocabulary_is_refused(saved, words, said):
    files = {path.name: path.read_bytes() for path in saved.iterdir() if path.name != "manifest.json"}
    place = saved.parent / "changed"
    model_directory.write_directory(place, {**files, "words.txt": words})
    with pytest.raises(PresetError, match=said) as error:
        QuestionAnswerer.from_preset(place)
    assert str(place) in str(error.value) and "\n" not in str(error.value)


def test_a_folder_of_something_else_is_refused_before_training(fitted, tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("x")
    monkeypatch.setattr("keraszoo.answering.question_answerer.train_answerer", None)
    with pytest.raises(PresetError, match="not overwritten"):
        fitted[0].fit(make_questions(60, seed=6), directory=tmp_path)


def test_hops_that_share_their_weights_may_be_a_hundred_and_in_int8(tmp_path):
    words = Vocabulary(["mary", "went", "home", "where", "is"])
    model = MemoryNetwork(len(words), width=4, hops=20, tying="layer_wise")  # more than arrays in the file
    answerer = QuestionAnswerer(model, words)
    answerer.save_to_preset(tmp_path / "m")
    assert QuestionAnswerer.from_preset(tmp_path / "m").model.hops == 20
    model.quantize("int8")
    answerer.save_to_preset(tmp_path / "m")
    np.testing.assert_equal(
        QuestionAnswerer.from_preset(tmp_path / "m").model.get_weights(), model.get_weights()
    )
    assert MemoryNetwork(len(words), hops=100).hops == 100
    with pytest.raises(ValueError, match="hops must be at most 100"):
        MemoryNetwork(len(words), hops=101)

"""Which sentences go through the model together, and in which program."""

import random

import keras
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.tagging.compiled_tagger import BATCH_COST, POSITION_COST, length_batches, room_for
from keraszoo.text.tagged_corpus import TaggedSentence


@pytest.mark.parametrize("budget", [1, 40, 5000])
def test_every_sentence_with_a_word_comes_once_and_within_the_budget(budget):
    for seed in range(5):
        draw = random.Random(seed)
        lengths = [draw.choice([0, 1, 5, 8, 20, draw.randint(1, 120)]) for _ in range(draw.randint(0, 90))]
        batches = list(length_batches(lengths, budget))
        assert sorted(i for batch in batches for i in batch) == [i for i, n in enumerate(lengths) if n]
        longest = [[lengths[i] for i in batch] for batch in batches]
        assert all(some == sorted(some) for some in longest)
        assert all(len(some) == 1 or len(some) * some[-1] <= budget for some in longest)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="there a shape costs more than padding")
def test_padding_costs_no_more_than_another_batch_would():
    lengths = [5] * 30 + [6] * 30 + [100, 40, 41]
    batches = [[lengths[i] for i in batch] for batch in length_batches(lengths, 8192)]
    assert batches == [[5] * 30 + [6] * 30, [40, 41, 100]]  # 121 of padding are too few to be worth a batch
    for some in batches:
        assert sum(some[-1] - n for n in some) <= BATCH_COST + POSITION_COST * some[-1]


needs_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a TensorFlow graph")
WORDS = "Ada Lovelace met a very_long_word_of_many_characters in Turin".split()


@pytest.fixture
def tagger():
    pets = TaggedSentence(tuple(WORDS), ("B-PER", "I-PER", "O", "O", "O", "O", "B-LOC"))
    return EntityTagger.for_sentences([pets], configuration="tiny")


@needs_tensorflow
def test_one_trace_serves_all_lengths_and_batches(tagger, monkeypatch):
    traced, read = [], tagger.model.read
    monkeypatch.setattr(tagger.model, "read", lambda *inputs, **others: traced.append(1) or read(*inputs))
    for count in (1, 2, 7, 100):
        for words in (WORDS[:1], WORDS[:4], WORDS * 30):
            assert len(tagger.tag([" ".join(words)] * count)) == count
    assert sum(traced) == 1


@pytest.mark.slow
@needs_tensorflow
def test_xla_runs_single_sentences_after_warm_up(tagger, monkeypatch):
    texts = [" ".join(WORDS[:3] * count) for count in (1, 6, 12, 30, 50)]
    plain = [tagger.tag_details([text])[0] for text in texts]
    tagger.warm_up()
    details = tagger.sentence_tagger.details
    program, called = details._program_of_one, []
    monkeypatch.setattr(details, "_program_of_one", lambda x: called.append(x) or program(x))
    for text, wanted in zip(texts, plain, strict=True):
        (found,) = tagger.tag_details([text])
        assert found.tags == wanted.tags
        np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-5)
    assert [features["words"].shape[1] for features in called] == [16, 32, 64, 128]


@pytest.mark.parametrize(
    ("shapes", "room"),
    [
        ([(1, 16), (1, 16, 16)], (1, 16, 16)),
        ([(1, 17), (1, 17, 2)], (1, 32, 16)),
        ([(1, 128)], (1, 128, 16)),
        ([(1, 129)], None),
        ([(1, 3), (1, 3, 17)], None),
    ],
)
def test_a_program_has_room_for_a_sentence(shapes, room):
    assert room_for(shapes) == room

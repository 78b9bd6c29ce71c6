"""A model learns what a teacher expects at each word."""

import keras
import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import RecipeError
from keraszoo.models import RNNSearch
from keraszoo.text.subword_sampling import SubwordSampling
from keraszoo.text.subwords import Subwords
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.translation import word_distillation
from keraszoo.translation.recipe import TrainingSection
from keraszoo.translation.training import make_corpus, make_data
from keraszoo.translation.word_distillation import word_shares

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture
def settings(trained_directory):
    return TrainingSection(teacher=str(trained_directory), teacher_weight=0.6)


def expected(teacher, pair):
    """The teacher's distribution at each position of one pair, by itself: (T, V)."""
    source, target = (side.encode([text])[0] for side, text in zip(sides(teacher), pair, strict=True))
    end, start = teacher.target_subwords.end_id, teacher.target_subwords.start_id
    logits = teacher.model((np.array([[*source, end]]), np.array([[start, *target]])))
    return keras.ops.convert_to_numpy(keras.ops.softmax(logits))[0]


def sides(translator):
    return translator.source_subwords, translator.target_subwords


def test_shares_are_those_of_the_likeliest_words_also_in_batches(
    new_translator, trained, train_pairs, settings, monkeypatch, capsys
):
    monkeypatch.setattr(word_distillation, "CHUNK", 5)
    monkeypatch.setattr(word_distillation, "WORDS", 4)
    translator, pairs = new_translator(), train_pairs[:12]
    run = translator._run(
        {"batch_tokens": 64, "teacher": settings.teacher, "teacher_weight": 0.6}, None, None
    )
    batches, _, digest = make_data(translator, pairs, None, run)
    seen = 0
    for i in range(len(batches)):
        _, (target_out, words, shares), weight = batches.batch(0, i)
        assert words.shape == shares.shape == (*target_out.shape, 4)
        assert not words[weight == 0].any() and not shares[weight == 0].any()
        for row, index in enumerate(batches.indices(0, i)):
            for position, wanted in enumerate(expected(trained, pairs[index])):
                likeliest = np.argsort(-wanted)[:4]
                np.testing.assert_allclose(shares[row, position], 0.6 * wanted[likeliest], atol=1e-3)
                np.testing.assert_allclose(wanted[words[row, position]], wanted[likeliest], atol=1e-6)
                seen += 1
    assert seen == sum(batches.real_tokens(0, i) for i in range(len(batches)))
    said = [f"keraszoo: the teacher has read {n} of 12 pairs" for n in (5, 10, 12)]
    assert capsys.readouterr().err.splitlines() == said
    alone = translator._run({"batch_tokens": 64}, None, None)
    assert make_data(translator, pairs, None, alone)[2] != digest


def test_fit_learns_the_words_of_the_teacher(new_translator, train_pairs, settings):
    """The loss of the first update is that of a batch with the teacher's words, before the update."""
    translator = new_translator()
    options = {"batch_tokens": 64, "steps": 1, "teacher": settings.teacher}
    batches, *_ = make_data(translator, train_pairs[:12], None, translator._run(dict(options), None, None))
    inputs, target_out, weight = batches.batch(0, 0)
    logits = translator.model(inputs)
    wanted = float(TokenCrossentropy(0.1)(target_out, logits, weight))
    assert wanted != pytest.approx(float(TokenCrossentropy(0.1)(target_out[0], logits, weight)), rel=1e-3)
    history = translator.fit(train_pairs[:12], **options)
    assert history.history["loss"] == pytest.approx([wanted], rel=1e-5)


def test_what_cannot_teach(new_translator, train_pairs, settings, tmp_path):
    translator = new_translator()
    other = Subwords.train([text for pair in train_pairs for text in pair], vocabulary_size=40)
    Translator(RNNSearch(40, embedding_dim=4, units=4), other).save_to_preset(tmp_path / "other")
    with pytest.raises(RecipeError, match="training.teacher: .*other has other source_subwords"):
        translator.fit(train_pairs[:9], teacher=str(tmp_path / "other"), epochs=1)
    corpus = make_corpus(translator, train_pairs[:9])
    corpus.sampling = SubwordSampling(corpus, sides(translator), "bpe_dropout", 0.1, 1)
    with pytest.raises(RecipeError, match="it reads the corpus once, but subwords.sampling changes it"):
        word_shares(translator, corpus, settings)

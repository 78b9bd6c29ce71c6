"""The language model cannot see what it predicts, and has the loss of a loop."""

import re

import crf_per_corpus
import keras
import language_model
import numpy as np
import pytest

from keraszoo import EntityTagger
from keraszoo.text.lines import write_lines
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors

WORDS = ("Ada", "met", "Bo", "in", "Bonn")


@pytest.fixture
def tagger():
    sentence = TaggedSentence(WORDS, ("B-PER", "O", "B-PER", "O", "B-LOC"))
    keras.utils.set_random_seed(3)
    return EntityTagger.for_sentences([sentence], None, "recurrent", "strong", units=6)


def random_model(tagger):
    model, encoder = language_model.language_model(tagger)
    random = np.random.default_rng(0)
    for weight in model.weights:
        if "seed" not in weight.path:
            weight.assign(random.normal(0, 0.5, weight.shape))
    return model, encoder


def test_a_state_does_not_see_the_word_that_it_predicts(tagger):
    model, _ = random_model(tagger)
    features = tagger.vocabulary.encode([WORDS])
    before = np.asarray(model(features))
    for place in range(len(WORDS)):
        other = [*WORDS[:place], "met" if place != 1 else "in", *WORDS[place + 1 :]]
        changed = tagger.vocabulary.encode([other])
        forward, backward = np.abs(np.asarray(model(changed)) - before).max(axis=(1, 3)) > 1e-6
        # Position t of both is the pair of the words t and t + 1.
        assert forward.tolist() == [t >= place for t in range(4)]
        assert backward.tolist() == [t + 1 <= place for t in range(4)]


def test_the_loss_of_a_loop(tagger, monkeypatch):
    model, _ = random_model(tagger)
    monkeypatch.setattr(language_model, "NEGATIVES", 7)
    draws = np.random.default_rng(1).uniform(size=7).astype("float32")
    monkeypatch.setattr(keras.random, "uniform", lambda *args, **kwargs: draws)
    features = tagger.vocabulary.encode([WORDS, WORDS[:3]])
    guesses = np.asarray(model(features))
    loss = float(model.compute_loss(features, y_pred=guesses))

    size, e, b = model.vocabulary_size, np.asarray(model.e), np.asarray(model.b)
    drawn = [min(int(size**u), size - 1) for u in draws]

    def score(guess, word):
        q = np.log(1 + 1 / word) / np.log(size)
        return e[word] @ guess + b[word] - np.log(7 * q)

    total, pairs = 0, 0
    for row, words in enumerate(features["words"]):
        words = words[words != 0]
        for t in range(len(words) - 1):
            pairs += 1
            for guess, right in ((guesses[0, row, t], words[t + 1]), (guesses[1, row, t], words[t])):
                scores = [score(guess, word) for word in drawn if word != right]
                total += np.log(np.exp([score(guess, right), *scores]).sum()) - score(guess, right)
    assert loss == pytest.approx(total / pairs, rel=1e-4)


def weights_of(tagger):
    words, head = tagger.model.words, tagger.model.head
    layers = words.vectors, words.characters, words.casing, words.subwords, head.scores
    return {layer.name: layer.get_weights() for layer in (*layers, tagger.model.recurrent)}


@pytest.mark.slow
def test_the_saved_tagger_has_the_trained_encoder(tmp_path, monkeypatch, capsys):
    lines = ["Ada\tB-PER", "met\tO", "Bo\tB-PER", "in\tO", "Bonn\tB-LOC", ""]
    write_lines(tmp_path / "train.tsv", lines)
    write_lines(tmp_path / "text.txt", [f"Bo met Ada in Bonn {i} times and again ." for i in range(40)])
    vectors = WordVectors(list(WORDS), np.random.default_rng(0).normal(size=(5, 4)).astype("float32"))
    vectors.write(tmp_path / "vectors.txt")
    group = crf_per_corpus.Group(str(tmp_path / "vectors.txt"), {"own": "train.tsv"}, {}, {})
    monkeypatch.setitem(language_model.GROUPS, "english", group)
    monkeypatch.setattr(language_model, "WARMUP_STEPS", 1)
    options = ["--text", str(tmp_path / "text.txt"), "--data", str(tmp_path)]
    options += ["--units", "6", "--passes", "3", "--batch-tokens", "90"]  # 41 sentences, 9 in a batch
    monkeypatch.setattr("sys.argv", ["language_model.py", str(tmp_path / "encoder"), *options])
    before, make = {}, language_model.new_tagger

    def noted(*arguments):
        tagger = make(*arguments)
        before.update(weights_of(tagger))
        return tagger

    monkeypatch.setattr(language_model, "new_tagger", noted)
    language_model.main()
    saved = EntityTagger.from_preset(tmp_path / "encoder")
    after = weights_of(saved)

    def changed(name):
        return any((a != b).any() for a, b in zip(after[name], before[name], strict=True))

    assert all(map(changed, ("recurrent", "characters", "casing")))
    assert not any(map(changed, ("vectors", "subwords", "scores")))
    assert saved.model.get_config()["units"] == 6
    assert re.findall(r"step (\d+) of (\d+)", capsys.readouterr().out) == [("15", "15")]

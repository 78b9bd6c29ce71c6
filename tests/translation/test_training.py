"""Training of translators: what is kept, and what is refused."""

import json
import signal

import keras
import numpy as np
import pytest

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.models import RNNSearch
from keraszoo.saving import model_directory
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords
from keraszoo.translation.warm_up import warm_up_texts

pytestmark = pytest.mark.usefixtures("eagerly")

FAST = {"schedule": "constant", "learning_rate": 0.01, "global_clipnorm": 1.0}
SHORT = {"batch_tokens": 512, "label_smoothing": 0.0, "optimizer": FAST}


def test_bleu_goes_up_and_is_what_the_directory_says(trained_directory, trained, test_pairs):
    metrics = json.loads((trained_directory / "metrics.json").read_text())
    bleus = metrics["training"]["val_bleu"]
    assert bleus[0] < 30 and metrics["validation"]["val_bleu"] == max(bleus) > 80
    sources, references = map(list, zip(*test_pairs, strict=True))
    assert trained.evaluate(sources, references).bleu.score == pytest.approx(max(bleus), abs=0.01)
    assert metrics["training"]["target_tokens"] > 0
    assert metrics["training"]["loss"][-1] < metrics["training"]["loss"][0] / 3


def test_the_best_weights_are_saved_and_stay_if_a_later_training_diverges(
    new_translator, train_pairs, test_pairs, monkeypatch, tmp_path
):
    bleus, weights = [1.0, 3.0, 2.0, 4.0], []  # of each period, and of the mean of the last two

    def figures(model):
        weights.append(model.get_weights())
        return {"val_bleu": bleus[len(weights) - 1], "val_loss": 1.0}

    monkeypatch.setattr("keraszoo.translation.translator.held_out_figures", lambda *arguments: figures)
    translator, data = new_translator(), (iter(train_pairs[:60]), test_pairs[:4], tmp_path / "m")
    history = translator.fit(*data, epochs=3, average_last=2, **SHORT)
    assert history.history["val_bleu"] == bleus[:3]
    saved = Translator.from_preset(tmp_path / "m")
    kept = translator.model.get_weights()
    for ours, *last in zip(kept, *weights[1:3], strict=True):
        np.testing.assert_allclose(ours, np.mean(last, axis=0), rtol=1e-5, atol=1e-7)
    np.testing.assert_equal(saved.model.get_weights(), kept)
    assert saved.metrics["validation"]["val_bleu"] == 4
    good = model_directory.read_directory(tmp_path / "m").manifest
    rate = {"schedule": "constant", "learning_rate": 1e30}
    with pytest.raises(KerasZooError, match="diverged"):
        translator.fit(train_pairs[:60], *data[1:], batch_tokens=512, optimizer=rate)
    assert model_directory.read_directory(tmp_path / "m").manifest == good


def test_settings_reach_the_loss_and_the_batches(new_translator, train_pairs, monkeypatch):
    given = {}
    note = lambda task, plan, batches, evaluate, **options: given.update(options, batches=batches)  # noqa: E731
    monkeypatch.setattr("keraszoo.translation.translator.fit_task", note)
    settings = {"label_smoothing": 0.2, "r_drop": 0.7, "shapes": 2, "seed": 5, "accumulate": 2}
    new_translator().fit(train_pairs[:9], **settings)
    batches, loss = given["batches"], given["loss"]
    assert (loss.label_smoothing, loss.r_drop) == (0.2, 0.7)
    assert (batches.shapes, batches.seed, batches.replicas, batches.copies) == (2, 5, 2, 2)
    twice = keras.tree.flatten(batches.batch(0, 0))
    batches.copies = 1
    for two, one in zip(twice, keras.tree.flatten(batches.batch(0, 0)), strict=True):
        share = 2 if one.dtype == "float32" else 1  # the weights
        np.testing.assert_array_equal(share * two, np.repeat(one, 2, axis=0))


def test_the_same_call_resumes_a_run_whose_corpus_has_rare_signs(tmp_path):
    pairs = [(f"it's a word{i % 7} don't", f"es ist' ein wort{i % 7}") for i in range(150)]
    pairs.append(("it’s a word don’t", "es ist’ ein wort"))
    subwords = Subwords.train([side for pair in pairs for side in pair], vocabulary_size=45)
    model = RNNSearch(subwords.vocabulary_size, embedding_dim=4, units=4)
    translator = Translator(model, subwords, search=SearchOptions(beam_width=1, max_length=3))
    read = translator.source_subwords.encode(["’"])
    given = {"checkpoints": tmp_path / "c", "checkpoint_steps": 1, "epochs": 1, "batch_tokens": 512}
    given |= {"validation": pairs[:1], "verbose": 0}
    ctrl_c = lambda batch, logs: signal.raise_signal(signal.SIGINT) if batch else None  # noqa: E731
    stop = keras.callbacks.LambdaCallback(on_train_batch_end=ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        translator.fit(pairs, callbacks=[stop], **given)
    assert translator.source_subwords.encode(["’"]) == read
    other = Translator(model, subwords, search=SearchOptions(beam_width=1, max_length=2))
    with pytest.raises(KerasZooError, match="data.search.*max_length"):
        other.fit(pairs, **given)
    translator.fit(pairs, **given)
    assert translator.source_subwords.encode(["’"]) != read


def test_a_log_for_tensorboard(new_translator, train_pairs, tmp_path):
    pytest.importorskip("tensorboard")
    new_translator().fit(train_pairs[:9], directory=tmp_path / "m", epochs=1, tensorboard=True, **SHORT)
    assert list((tmp_path / "m.logs").rglob("events.out.tfevents.*"))


def test_warm_up_translates_a_text_for_each_program(untrained, monkeypatch):
    said, told = [], []
    monkeypatch.setattr(untrained, "translate", lambda texts, **search: said.append((texts, search)))
    monkeypatch.setattr(untrained.compiled_search, "warm_up", told.append)
    untrained.warm_up(beam_width=2)
    assert [options.beam_width for options in told] == [2]
    texts = warm_up_texts(untrained)
    assert said == [([text], {"beam_width": 2}) for text in texts]
    assert [len(row) + 1 for row in untrained.source_subwords.encode(texts)] == [16, 48, 128]

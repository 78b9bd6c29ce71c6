"""Figures of held-out pairs."""

import gc
import weakref

import numpy as np
import pytest

from keraszoo.text.corpus import ParallelCorpus
from keraszoo.translation.recipe import TrainingSection
from keraszoo.translation.training import held_out_figures

BY_LOSS = {"monitor": "val_loss"}


def test_figures_of_held_out_pairs_do_not_depend_on_the_batches(both_subwords, test_pairs, new_translator):
    translator = new_translator()
    model = translator.model
    corpus = ParallelCorpus.from_pairs(test_pairs[:9], *both_subwords)
    losses, right = [], []
    for i in range(len(corpus)):  # each pair alone, without padding, token by token
        special = corpus.target_special
        source = np.array([[*corpus.sources[i], corpus.source_special.end_id]])
        target = corpus.targets[i]
        logits = np.asarray(model((source, np.array([[special.start_id, *target]]))))[0].astype("float64")
        for word, scores in zip([*target, special.end_id], logits, strict=True):
            losses.append(np.log(np.exp(scores).sum()) - scores[word])
            right.append(scores.argmax() == word)
    settings = TrainingSection(batch_tokens=64, **BY_LOSS)
    figures = held_out_figures(translator, test_pairs[:9], settings)(model)
    assert figures["val_loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert figures["val_token_accuracy"] == pytest.approx(np.mean(right), abs=1e-6)


def test_bleu_is_that_of_the_translations(test_pairs, new_translator, monkeypatch):
    translator = new_translator()
    answers = [*(reference for _, reference in test_pairs[:20]), *[""] * (len(test_pairs) - 20)]
    monkeypatch.setattr(translator, "translate", lambda texts: answers)
    figures = held_out_figures(translator, test_pairs, TrainingSection())(translator.model)
    assert figures["val_loss"] == pytest.approx(np.log(figures["val_perplexity"]))
    assert 0 < figures["val_bleu"] < 100 and 0 <= figures["val_token_accuracy"] <= 1


def test_a_loss_whose_exponential_is_no_float(test_pairs, new_translator):
    translator = new_translator()
    translator.model.set_weights([1000 * weight for weight in translator.model.get_weights()])
    figures = held_out_figures(translator, test_pairs[:2], TrainingSection(**BY_LOSS))(translator.model)
    assert figures["val_loss"] > 710 and np.isfinite(figures["val_perplexity"])


def test_without_a_search_there_is_no_bleu(test_pairs, new_translator):
    translator = new_translator()
    figures = held_out_figures(translator, test_pairs[:2], TrainingSection(**BY_LOSS))(translator.model)
    assert sorted(figures) == ["val_loss", "val_perplexity", "val_token_accuracy"]


def test_figures_of_held_out_pairs_keep_no_model_alive(test_pairs, new_translator):
    translator = new_translator()
    held_out_figures(translator, test_pairs[:2], TrainingSection(**BY_LOSS))(translator.model)
    model = weakref.ref(translator.model)
    del translator
    gc.collect()
    assert model() is None

"""Figures of held-out pairs."""

import gc
import weakref

import numpy as np
import pytest

from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.held_out import HeldOutPairs
from keraszoo.training.token_batches import TokenBatches


@pytest.fixture
def corpus(both_subwords, test_pairs):
    return ParallelCorpus.from_pairs(test_pairs, *both_subwords)


def test_figures_of_held_out_pairs_do_not_depend_on_the_batches(both_subwords, test_pairs, new_translator):
    model = new_translator().model
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
    held_out = HeldOutPairs(None, [], [], TokenBatches(corpus, 64, shuffle=False, shapes=None))
    loss, accuracy = held_out.token_figures(model)
    assert loss == pytest.approx(np.mean(losses), rel=1e-4)
    assert accuracy == pytest.approx(np.mean(right), abs=1e-6)


def test_bleu_is_that_of_the_translations(corpus, test_pairs, new_translator):
    sources, references = map(list, zip(*test_pairs, strict=True))
    answers = [*references[:20], *[""] * 20]
    batches = TokenBatches(corpus, 200, shuffle=False)
    held_out = HeldOutPairs(lambda texts: answers, sources, references, batches)
    figures = held_out.figures(new_translator().model)
    assert figures["val_loss"] == pytest.approx(np.log(figures["val_perplexity"]))
    assert 0 < figures["val_bleu"] < 100 and 0 <= figures["val_token_accuracy"] <= 1


def test_a_loss_whose_exponential_is_no_float(monkeypatch):
    monkeypatch.setattr(HeldOutPairs, "token_figures", lambda self, model: (1000.0, 0.0))
    figures = HeldOutPairs(None, [], [], None).figures(None)
    assert figures["val_loss"] == 1000 and np.isfinite(figures["val_perplexity"])


def test_without_a_search_there_is_no_bleu(corpus, new_translator):
    held_out = HeldOutPairs(None, [], [], TokenBatches(corpus, 200, shuffle=False))
    figures = held_out.figures(new_translator().model)
    assert sorted(figures) == ["val_loss", "val_perplexity", "val_token_accuracy"]


def test_held_out_pairs_keep_no_model_alive(corpus, new_translator):
    translator = new_translator()
    HeldOutPairs(None, [], [], TokenBatches(corpus, 200, shuffle=False)).figures(translator.model)
    model = weakref.ref(translator.model)
    del translator
    gc.collect()
    assert model() is None

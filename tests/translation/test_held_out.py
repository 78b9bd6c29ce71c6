"""Figures of held-out pairs."""

import gc
import weakref

import numpy as np
import pytest

from keraszoo.errors import ScoreError
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.translation.recipe import TrainingSection
from keraszoo.translation.training import held_out_figures

pytestmark = pytest.mark.usefixtures("eagerly")
BY_LOSS = {"monitor": "val_loss"}


def figures_of(translator, pairs, **settings):
    return held_out_figures(translator, pairs, TrainingSection(**settings))(translator.model)


def test_figures_do_not_depend_on_the_batches(both_subwords, test_pairs, new_translator):
    translator = new_translator()
    corpus = ParallelCorpus.from_pairs(test_pairs[:5], *both_subwords)
    losses, right = [], []
    for i in range(len(corpus)):  # each pair alone, without padding, token by token
        special = corpus.target_special
        source = np.array([[*corpus.sources[i], corpus.source_special.end_id]])
        target_in = np.array([[special.start_id, *corpus.targets[i]]])
        logits = np.asarray(translator.model((source, target_in)))[0].astype("float64")
        for word, scores in zip([*corpus.targets[i], special.end_id], logits, strict=True):
            losses.append(np.log(np.exp(scores).sum()) - scores[word])
            right.append(scores.argmax() == word)
    figures = figures_of(translator, test_pairs[:5], batch_tokens=64, **BY_LOSS)
    assert sorted(figures) == ["val_loss", "val_perplexity", "val_token_accuracy"]  # nothing is translated
    assert figures["val_loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert figures["val_perplexity"] == pytest.approx(np.exp(np.mean(losses)), rel=1e-4)
    assert figures["val_token_accuracy"] == pytest.approx(np.mean(right), abs=1e-6)


def test_pairs_that_are_too_long_count_for_bleu_alone(test_pairs, untrained, capsys, monkeypatch):
    long, translated = " ".join(["one"] * 999), []
    monkeypatch.setattr(untrained, "translate", lambda texts: translated.append(texts) or texts)
    with_long, without = (
        figures_of(untrained, pairs) for pairs in ([*test_pairs[:4], (long, "eins")], test_pairs[:4])
    )
    assert [len(texts) for texts in translated] == [5, 4]
    assert with_long["val_loss"] == without["val_loss"]
    limit = untrained.max_source_tokens
    said = f"validation: 1 pairs of more than {limit:,} subwords count for BLEU, not for val_loss"
    assert said in capsys.readouterr().err


def test_chinese_is_evaluated_by_its_own_tokens(untrained, monkeypatch):
    """A right translation has BLEU 100 at each evaluation, not 0, and a missing package is named at once."""
    sources, references = (
        ["eins", "zwei"],
        ["我们昨天在公园里看到了一只很大的狗。", "他不喜欢喝咖啡，但是喜欢喝茶。"],
    )
    monkeypatch.setattr(untrained, "translate", lambda texts, *options: references)
    pairs = list(zip(sources, references, strict=True))
    assert figures_of(untrained, pairs)["val_bleu"] == pytest.approx(100)
    with pytest.warns(UserWarning, match="13a splits words at blanks"):
        by_blanks = held_out_figures(untrained, pairs, TrainingSection(bleu_tokenizer="13a"))
    assert by_blanks(untrained.model)["val_bleu"] == 0
    scores = untrained.evaluate(sources, references, tokenizer="char")
    assert scores.bleu.score == pytest.approx(100) and "tok:char" in scores.bleu.signature
    with pytest.raises(ScoreError, match="tokenizer: expected one of"):
        untrained.evaluate(sources, references, tokenizer="moses")


def test_a_loss_whose_exponential_is_no_float_and_a_model_that_is_freed(test_pairs, new_translator):
    translator = new_translator()
    translator.model.set_weights([1000 * weight for weight in translator.model.get_weights()])
    figures = figures_of(translator, test_pairs[:2], **BY_LOSS)
    assert figures["val_loss"] > 710 and np.isfinite(figures["val_perplexity"])
    model = weakref.ref(translator.model)
    del translator
    gc.collect()
    assert model() is None

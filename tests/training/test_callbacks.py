"""Training callbacks: figures of held-out pairs, the best weights, the mean of the last."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from keraszoo.tasks.training import Trainable
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.training.addressed_batches import Periods
from keraszoo.training.callbacks import BestWeights, LastWeights, Throughput, WholeHistory
from keraszoo.training.held_out import HeldOutPairs
from keraszoo.training.token_batches import TokenBatches


class Model:
    """Stands in for a model: its one weight is the number of epochs it was trained."""

    stop_training = False
    optimizer = SimpleNamespace(learning_rate=0.5)

    def __init__(self):
        self.weight = 0

    def get_weights(self):
        return [np.array([self.weight], "float32"), np.array([10 * self.weight], "int64")]


def run(callback, logs):
    """Epochs that give these logs, until training is stopped; returns how many there were."""
    model = Model()
    callback.set_model(model)
    for epoch, entry in enumerate(logs):
        model.weight = epoch
        callback.on_epoch_end(epoch, entry)
        if model.stop_training:
            return epoch + 1
    return len(logs)


def bleus(*values):
    return [{"val_bleu": value, "val_loss": 1.0} for value in values]


def test_the_best_weights_are_kept_and_saved():
    saved = []
    best = BestWeights(save=saved.append)
    assert run(best, bleus(1.0, 3.0, 2.0, 3.0)) == 4
    assert best.weights[0] == 1 and best.best_epoch == 1
    assert saved == bleus(1.0, 3.0)


def test_of_equal_bleus_the_lower_loss_is_better():
    best = BestWeights()
    run(best, [{"val_bleu": 0.0, "val_loss": loss} for loss in (3.0, 1.0, 2.0)])
    assert best.best_epoch == 1


def test_by_loss_the_least_is_the_best_and_no_bleu_is_asked_for():
    best = BestWeights("val_loss", patience=2)
    assert run(best, [{"val_loss": loss} for loss in (3.0, 1.0, 2.0, 1.5, 0.5)]) == 4
    assert best.best_epoch == 1
    assert best.is_better({"val_loss": 0.9}) and not best.is_better({"val_loss": 1.0})


def test_any_loss_is_better_than_none():
    best = BestWeights("val_loss")
    run(best, [{"val_loss": loss} for loss in (float("nan"), 2.0, float("nan"), 3.0)])
    assert best.best_epoch == 1


def test_figures_that_are_not_finite_are_not_noted():
    task = SimpleNamespace(metrics={})
    Trainable._note_validation(task, {"loss": 1.0, "val_loss": float("nan"), "val_f1": 50})
    assert task.metrics == {"validation": {"val_f1": 50.0}}


def test_patience_counts_epochs_without_a_better_value():
    assert run(BestWeights(patience=2), bleus(1, 2, 1, 1, 5)) == 4
    assert run(BestWeights(patience=3), bleus(1, 2, 1, 1, 5)) == 5
    assert run(BestWeights(), bleus(1, *[0] * 50)) == 51


def test_the_mean_of_the_last_weights():
    last = LastWeights(3)
    run(last, bleus(0, 0, 0, 0, 0))
    mean, whole = last.mean()
    assert mean.tolist() == [3.0] and mean.dtype == "float32"  # of 2, 3, 4
    assert whole.tolist() == [40] and whole.dtype == "int64"


def test_states_are_taken_back():
    best, last, history = BestWeights(patience=2), LastWeights(2), WholeHistory()
    for callback in (best, last, history):
        run(callback, bleus(1.0, 3.0, 2.0))
    again = BestWeights(patience=2), LastWeights(2), WholeHistory()
    for old, new in zip((best, last, history), again, strict=True):
        new.set_state(old.get_state())
        new.on_train_begin()
    assert again[0].best_epoch == 1 and again[0].logs == best.logs and again[0].weights is best.weights
    assert again[1].kept == last.kept and len(again[1].kept) == 2
    figures = {"val_bleu": [1, 3, 2], "val_loss": [1, 1, 1], "learning_rate": [0.5] * 3}
    assert again[2].history == figures and again[2].epoch == [0, 1, 2]
    model = Model()
    again[0].set_model(model)
    again[0].on_epoch_end(3, bleus(2.5)[0])
    assert model.stop_training  # the second without a better value, the first was before


@pytest.fixture
def corpus(both_subwords, test_pairs):
    return ParallelCorpus.from_pairs(test_pairs, *both_subwords)


def test_throughput_counts_real_tokens_and_stops(corpus):
    batches = TokenBatches(corpus, 64)
    periods = Periods(batches, 3)
    throughput = Throughput(periods, stop_at=5)
    model = Model()
    throughput.set_model(model)
    steps = 0
    for epoch in range(9):
        periods.period = epoch
        throughput.on_epoch_begin(epoch)
        for i in range(3):
            logs = {}
            throughput.on_train_batch_begin(i)
            throughput.on_train_batch_end(i, logs)
            steps += 1
            assert logs["tokens_per_s"] > 0
            if model.stop_training:
                break
        throughput.on_epoch_end(epoch, {})
        if model.stop_training:
            break
    assert steps == throughput.step == 5
    real = sum((batches.batch(*divmod(step, len(batches)))[2] > 0).sum() for step in (3, 4))
    assert throughput.tokens[-1] == real  # of the second period


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


def test_held_out_adds_its_figures_to_the_logs(corpus, test_pairs, new_translator):
    sources, references = map(list, zip(*test_pairs, strict=True))
    answers = [*references[:20], *[""] * 20]
    batches = TokenBatches(corpus, 200, shuffle=False)
    held_out = HeldOutPairs(lambda texts: answers, sources, references, batches)
    held_out.set_model(new_translator().model)
    logs = {"loss": 1.0}
    held_out.on_epoch_end(0, logs)
    assert logs["val_loss"] == pytest.approx(np.log(logs["val_perplexity"]))
    assert 0 < logs["val_bleu"] < 100 and logs["loss"] == 1.0 and 0 <= logs["val_token_accuracy"] <= 1


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

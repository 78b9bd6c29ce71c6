"""Perplexity and accuracy against NumPy loops over single tokens."""

import keras
import numpy as np
import pytest

from keraszoo.training.metrics import Perplexity, TokenAccuracy

VOCABULARY = 7


def by_hand(batches):
    """(perplexity, accuracy) in float64, token by token."""
    losses, hits = [], []
    for y_true, logits, weight in batches:
        for place in np.ndindex(y_true.shape):
            if weight[place] > 0:
                row = logits[place].astype("float64")
                losses.append(np.log(np.sum(np.exp(row))) - row[y_true[place]])
                hits.append(int(np.argmax(row)) == y_true[place])
    return np.exp(np.mean(losses)), np.mean(hits)


def batch(rng, lengths, columns):
    """Random ids and logits for rows of the given lengths, weights 1/N on real positions."""
    y_true = rng.integers(0, VOCABULARY, (len(lengths), columns))
    real = np.arange(columns) < np.asarray(lengths)[:, None]
    logits = rng.normal(size=(len(lengths), columns, VOCABULARY)).astype("float32") * 3
    return y_true, logits, (real / max(1, real.sum())).astype("float32")


@pytest.fixture
def batches():
    rng = np.random.default_rng(0)
    return [batch(rng, [3], 5), batch(rng, [11, 13, 2], 13), batch(rng, [1, 0], 1)]


def test_every_real_token_counts_the_same_in_whichever_batch(batches):
    perplexity, accuracy = Perplexity(), TokenAccuracy()
    for y_true, logits, weight in batches:
        perplexity.update_state(y_true, logits, sample_weight=weight)
        accuracy.update_state(y_true, logits, sample_weight=weight)
    expected = by_hand(batches)
    np.testing.assert_allclose([float(perplexity.result()), float(accuracy.result())], expected, rtol=1e-6)


def test_two_tokens_by_eye():
    # p(right) is 1/4 and 1/9: the geometric mean is 1/6. The first guess is wrong, the second is right.
    logits = np.log([[[1 / 4, 3 / 4, 1e-9], [1 / 9, 1 / 18, 1 / 18]]]).astype("float32")
    logits[0, 1] = np.log([1 / 9, 4 / 9, 4 / 9])
    perplexity, accuracy = Perplexity(), TokenAccuracy()
    perplexity.update_state([[0, 0]], logits)
    accuracy.update_state([[0, 1]], logits)
    np.testing.assert_allclose(float(perplexity.result()), 6, rtol=1e-6)
    assert float(accuracy.result()) == 0.5


def test_probabilities_instead_of_logits(batches):
    y_true, logits, weight = batches[1]
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    metric = Perplexity(from_logits=False)
    metric.update_state(y_true, probabilities, sample_weight=weight)
    np.testing.assert_allclose(float(metric.result()), by_hand(batches[1:2])[0], rtol=1e-5)


def test_one_weight_a_row(batches):
    y_true, logits, _ = batches[1]
    rows = np.array([0.25, 0.0, 2.0], "float32")
    metric = Perplexity()
    metric.update_state(y_true, logits, sample_weight=rows)
    weight = np.repeat(rows[:, None], y_true.shape[1], axis=1)
    np.testing.assert_allclose(float(metric.result()), by_hand([(y_true, logits, weight)])[0], rtol=1e-6)


def test_what_stands_on_padding_changes_nothing(batches):
    y_true, logits, weight = batches[1]
    spoilt = np.where(weight[..., None] > 0, logits, np.nan).astype("float32")
    for metric in (Perplexity(), TokenAccuracy()):
        metric.update_state(y_true, logits, sample_weight=weight)
        expected = float(metric.result())
        metric.reset_state()
        metric.update_state(np.where(weight > 0, y_true, 0), spoilt, sample_weight=weight)
        assert float(metric.result()) == expected


@pytest.mark.parametrize("metric", [Perplexity(), TokenAccuracy()])
def test_no_token_is_nan_and_not_a_score(metric):
    metric.update_state([[1]], np.zeros((1, 1, 3), "float32"), sample_weight=[[0.0]])
    assert np.isnan(float(metric.result()))


def test_half_precision_logits_are_summed_in_full(batches):
    y_true, logits, weight = batches[1]
    half = keras.ops.cast(logits, "bfloat16")
    rounded = keras.ops.convert_to_numpy(keras.ops.cast(half, "float32"))
    metric = Perplexity()
    metric.update_state(y_true, half, sample_weight=weight)
    np.testing.assert_allclose(float(metric.result()), by_hand([(y_true, rounded, weight)])[0], rtol=1e-6)


@pytest.mark.parametrize("metric", [Perplexity(from_logits=False, name="p"), TokenAccuracy(name="a")])
def test_a_metric_survives_its_config(metric):
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is type(metric) and again.get_config() == metric.get_config()


class Source(keras.utils.PyDataset):
    """Batches of unequal size, addressed."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def test_evaluate_over_batches_of_unequal_size(batches):
    # The model's logits depend on its input ids alone: a table, read here too.
    model = keras.Sequential([keras.layers.Embedding(VOCABULARY, VOCABULARY)])
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"),
        weighted_metrics=[Perplexity(), TokenAccuracy()],
    )
    given = [(np.roll(y_true, 1, axis=-1), y_true, weight) for y_true, _, weight in batches]
    scores = model.evaluate(Source(given), verbose=0, return_dict=True)
    table = model.layers[0].get_weights()[0]
    expected = by_hand([(y_true, table[inputs], weight) for inputs, y_true, weight in given])
    np.testing.assert_allclose([scores["perplexity"], scores["token_accuracy"]], expected, rtol=1e-5)

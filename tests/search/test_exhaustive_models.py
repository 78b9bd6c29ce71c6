"""The real models under a beam as wide as the space: the n best of all hypotheses, by teacher forcing."""

import itertools

import numpy as np
import pytest
from keras import ops

from keraszoo.models import (
    GNMT,
    ConvS2S,
    DeepLSTM,
    Ensemble,
    LuongNMT,
    RNNEncDec,
    RNNSearch,
    SimplifiedRNNSearch,
    Transformer,
)
from keraszoo.search import SearchOptions, beam_search

to_numpy = ops.convert_to_numpy
START, END, V, L = 1, 3, 5, 3
RNN = {"embedding_dim": 7, "units": 6}
TRANSFORMER = {"d_model": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
MODELS = {
    "ConvS2S": (ConvS2S, dict(RNN, num_layers=2)),
    "DeepLSTM": (DeepLSTM, dict(RNN, num_layers=2)),
    "GNMT": (GNMT, dict(RNN, num_layers=3)),
    "LuongNMT": (LuongNMT, dict(RNN, num_layers=2, window="predictive", half_width=2)),
    "RNNEncDec": (RNNEncDec, RNN),
    "SimplifiedRNNSearch": (SimplifiedRNNSearch, RNN),
    "Transformer, rotary": (Transformer, dict(TRANSFORMER, positions="rotary")),
    "Transformer, learned": (Transformer, dict(TRANSFORMER, positions="learned", max_positions=9)),
    "Transformer": (Transformer, TRANSFORMER),
    "RNNSearch": (RNNSearch, dict(RNN, cell="lstm")),
}


def make(name):
    if name == "Ensemble":
        return Ensemble([make(member) for member in ("DeepLSTM", "RNNSearch", "Transformer")])
    cls, sizes = MODELS[name]
    return cls(V, **sizes)


DEFAULT = ("LuongNMT", "Transformer", "RNNSearch", "Ensemble")
SWEEP = [
    pytest.param(name, marks=[] if name in DEFAULT else pytest.mark.slow) for name in (*MODELS, "Ensemble")
]


@pytest.fixture(params=SWEEP, scope="module")
def model(request):
    model, rng = make(request.param), np.random.default_rng(4)
    model.build()
    for weight in model.trainable_variables:
        weight.assign(3 * to_numpy(weight) + 0.1 * rng.normal(size=weight.shape))
    return model


@pytest.mark.parametrize(
    ("normalization", "penalty"), [("length", 1.0), pytest.param("gnmt", 0.8, marks=pytest.mark.slow)]
)
def test_the_n_best_of_all(model, listed, normalization, penalty):
    source = np.array([[4, 3, 0], [3, 4, 3]], "int32")
    options = SearchOptions(
        beam_width=90, num_hypotheses=20, max_length=L, length_penalty=penalty, normalization=normalization
    )
    out = listed(beam_search(model, model.encode(source), options, START, END, lengths=[2, 3]))
    words = [(*h, END) for n in range(L) for h in itertools.product((0, 1, 2, 4), repeat=n)]
    target_in = np.array([[START, *h[:-1], *[0] * (L - len(h))] for h in words], "int32")
    relative = 1e-5 if isinstance(model, ConvS2S) else 1e-7  # its log-probabilities reach -2,000
    for b in range(2):
        logits = model((np.repeat(source[b : b + 1], len(words), 0), target_in))
        every = to_numpy(ops.log_softmax(logits)).astype("float64")
        log_probs = [sum(every[i, t, word] for t, word in enumerate(h)) for i, h in enumerate(words)]

        def score(i, log_probs=log_probs):
            n = len(words[i])
            return log_probs[i] / (n**penalty if normalization == "length" else ((5 + n) / 6) ** penalty)

        best = sorted(range(len(words)), key=score, reverse=True)[:20]
        np.testing.assert_allclose([h[0] for h in out[b]], [score(i) for i in best], rtol=relative, atol=1e-4)
        of_words = dict(zip(words, log_probs, strict=True))
        assert len({h[1] for h in out[b]}) == 20
        for _, h, log_prob in out[b]:
            assert log_prob == pytest.approx(of_words[h], rel=relative, abs=1e-4)

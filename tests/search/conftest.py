"""A model small enough to know all of its hypotheses, and the brute force that lists them."""

import itertools

import numpy as np
import pytest
from keras import ops

from keraszoo.models import TranslationModel
from keraszoo.search import search

START, END = 1, 3


class Tables:
    """A random model: the next word depends on sentence, position and the last two words.

    It is a table of logits `(B, L, V, V, V)` and one of attention weights `(B, L, V, S)`: NumPy reads the
    same tables word by word that `step` reads in rows. No two hypotheses have one probability.
    """

    attends = True
    of_sentences = TranslationModel.of_sentences
    select_rows = TranslationModel.select_rows
    select_sentences = TranslationModel.select_sentences
    lengthen = TranslationModel.lengthen

    def __init__(self, sentences=2, length=4, vocabulary=5, source=3, seed=0, sharpness=1.5):
        rng = np.random.default_rng(seed)
        self.sentences, self.length, self.vocabulary, self.source = sentences, length, vocabulary, source
        self.logits = rng.normal(size=(sentences, length, *(vocabulary,) * 3)).astype("float32") * sharpness
        looks = np.exp(2 * rng.normal(size=(sentences, length, vocabulary, source)))
        self.mask = np.ones((sentences, source), bool)
        if source > 1:
            self.mask[1::2, -1] = False  # every other sentence ends with padding
        looks = looks * self.mask[:, None, None]
        self.looks = (looks / looks.sum(-1, keepdims=True)).astype("float32")

    def some(self, sentences):
        """The same model of some of the sentences."""
        other = object.__new__(Tables)
        other.__dict__.update(self.__dict__)
        other.sentences = len(sentences)
        for name in ("logits", "looks", "mask"):
            setattr(other, name, getattr(self, name)[sentences])
        return other

    @property
    def memory(self):
        memory = {"logits": self.logits, "looks": self.looks, "memory_mask": self.mask}
        return {key: ops.convert_to_tensor(part) for key, part in memory.items()}

    def initial_state(self, memory, beam_width=1, length=None):
        rows = self.sentences * beam_width
        return {
            "memory": memory,
            "position": ops.zeros((), "int32"),
            "before": ops.zeros((rows,), "int32"),
            "attention_weights": ops.zeros((rows, self.source), "float32"),
        }

    def step(self, tokens, state):
        memory, vocabulary = state["memory"], self.vocabulary
        tokens = ops.cast(tokens, "int32")
        rows, sentences = ops.shape(tokens)[0], ops.shape(memory["logits"])[0]
        sentence = ops.arange(rows, dtype="int32") // max(1, rows // max(1, sentences))
        logits = ops.reshape(ops.take(memory["logits"], state["position"], axis=1), (-1, vocabulary))
        looks = ops.reshape(ops.take(memory["looks"], state["position"], axis=1), (-1, self.source))
        pair = (sentence * vocabulary + state["before"]) * vocabulary + tokens
        return ops.take(logits, pair, axis=0), {
            **state,
            "position": state["position"] + 1,
            "before": tokens,
            "attention_weights": ops.take(looks, sentence * vocabulary + tokens, axis=0),
        }

    def log_softmax(self, sentence, words):
        """Log-probabilities of the word after `words`."""
        before, last = ([0, START, *words])[-2:]
        row = self.logits[sentence, len(words), before, last].astype("float64")
        return row - np.log(np.exp(row).sum())

    def log_prob(self, sentence, words):
        return sum(self.log_softmax(sentence, words[:i])[word] for i, word in enumerate(words))

    def attention(self, sentence, words):
        """Where the model looked when it wrote each of the words, `(length, S)`."""
        return np.array([self.looks[sentence, i, last] for i, last in enumerate([START, *words[:-1]])])

    def score(self, sentence, words, options, more=0):
        """Wu et al. 2016, eq. 14; with so many more words that cost nothing and look at nothing."""
        n, a = len(words) + more, options.length_penalty
        penalty = n**a if options.normalization == "length" else ((5 + n) / 6) ** a
        covered = 0.0
        for j in range(self.source):
            if self.mask[sentence, j]:
                covered += np.log(max(1e-6, min(1.0, self.attention(sentence, words)[:, j].sum())))
        return self.log_prob(sentence, words) / penalty + options.coverage_penalty * covered

    def all_hypotheses(self, sentence, options, allowed=lambda words: True):
        """Every hypothesis there is, the best first: those that end, then those cut at the maximum length."""
        others = [word for word in range(self.vocabulary) if word != END]
        ended = [
            (*words, END) for n in range(options.max_length) for words in itertools.product(others, repeat=n)
        ]
        cut = list(itertools.product(others, repeat=options.max_length))

        def ordered(hypotheses):
            scored = [(self.score(sentence, h, options), h) for h in hypotheses if allowed(h)]
            return sorted(scored, reverse=True)

        return ordered(ended) + ordered(cut)


@pytest.fixture
def tables():
    return Tables


@pytest.fixture
def find():
    """Searches with such a model, by `search` or another function."""

    def find(model, options, by=search, **arguments):
        return by(model, model.memory, options, start_id=START, end_id=END, **arguments)

    return find


@pytest.fixture
def listed():
    """Makes `Hypotheses` a list of lists of (score, tokens, log_prob), without those that do not exist."""

    def listed(hypotheses):
        names = "tokens", "lengths", "log_prob", "score"
        tokens, lengths, log_prob, score = (ops.convert_to_numpy(getattr(hypotheses, name)) for name in names)
        lists = [[] for _ in tokens]
        for b, k in np.argwhere(lengths):
            lists[b].append((score[b, k], tuple(tokens[b, k, : lengths[b, k]].tolist()), log_prob[b, k]))
        return lists

    return listed


@pytest.fixture
def same():
    """A check that two `Hypotheses` are the same, up to rounding."""

    def check(one, other, atol=1e-5):
        for name in ("tokens", "lengths", "log_prob", "score", "attention_weights"):
            a, b = getattr(one, name), getattr(other, name)
            assert (a is None) == (b is None), name
            if a is not None:
                a, b = ops.convert_to_numpy(a), ops.convert_to_numpy(b)
                np.testing.assert_allclose(a, b, atol=atol, rtol=1e-5, err_msg=name)

    return check


@pytest.fixture
def pick():
    """Some sentences of `Hypotheses`."""

    def of(hypotheses, sentences):
        parts = {name: part for name, part in vars(hypotheses).items() if part is not None}
        parts = {name: ops.convert_to_numpy(part)[sentences] for name, part in parts.items()}
        return type(hypotheses)(**parts)

    return of

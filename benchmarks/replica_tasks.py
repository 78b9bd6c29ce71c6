"""Defines the tasks of replicas.py: small translators and taggers on generated sentences."""

import keras
import numpy as np

from keraszoo import EntityTagger
from keraszoo.models import RNNSearch, Transformer
from keraszoo.text.corpus import ParallelCorpus
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.adam import Adam
from keraszoo.training.losses import TokenCrossentropy
from keraszoo.training.optimizers import InverseSquareRoot
from keraszoo.training.tag_batches import TagBatches, TaggedRows
from keraszoo.training.token_batches import TokenBatches

VOCABULARY, SENTENCES = 500, 1201
TRANSLATORS = {
    "transformer": (Transformer, {"d_model": 128, "num_layers": 2, "num_heads": 4, "intermediate_dim": 256}),
    "rnnsearch": (RNNSearch, {"embedding_dim": 64, "units": 64}),
}
TAGGERS = {
    "recurrent": {"units": 48, "characters": "cnn", "casing_dim": 8},
    "attention": {"units": 64},
}
TASKS = [*TRANSLATORS, *(f"{kind}_tagger{crf}" for kind in TAGGERS for crf in ("", "_crf"))]


class Translation:
    """A translation model, label smoothing, and unrelated source and target sentences.

    Args:
        name: in `TRANSLATORS`.
        shares, batch_tokens, shapes: the `replicas`, `tokens` and `shapes` of `TokenBatches`.
    """

    def __init__(self, name, shares, batch_tokens, shapes):
        self.kind, self.sizes = TRANSLATORS[name]
        draw = np.random.default_rng(0)
        sides = [
            [draw.integers(4, VOCABULARY, size=draw.integers(3, 25)).tolist() for _ in range(SENTENCES)]
            for _ in range(2)
        ]
        corpus = ParallelCorpus.from_ids(*sides, pad_id=0, start_id=2, end_id=3)
        self.batches = TokenBatches(corpus, batch_tokens, seed=1, replicas=shares, shapes=shapes)

    def model(self, dtype, dropout):
        """Makes a new model."""
        model = self.kind(VOCABULARY, dtype=dtype, dropout=dropout, **self.sizes)
        model.build()
        return model

    def learning(self, model, accumulate):
        """The loss and the optimizer of a model."""
        rate, dtype = InverseSquareRoot(7e-4, 20), keras.backend.result_type(model.compute_dtype, "float32")
        optimizer = Adam(rate, 0.9, 0.98, 1e-9, global_clipnorm=0.5, accumulate=accumulate)
        return {"loss": TokenCrossentropy(0.1, dtype=dtype), "optimizer": optimizer}


class Tagging:
    """A tagger with frozen vectors, its own loss, and sentences whose words determine their tags.

    Args:
        name: `"recurrent_tagger"` or `"attention_tagger"`, with the suffix `_crf` for a CRF.
        shares, batch_tokens, shapes: the `replicas`, `tokens` and `shapes` of `TagBatches`.
    """

    def __init__(self, name, shares, batch_tokens, shapes):
        self.kind, _, crf = name.partition("_tagger")
        self.crf = bool(crf)
        draw = np.random.default_rng(0)
        words = [f"{'abcde'[i % 5]}{i}" for i in range(VOCABULARY)]
        self.vectors = WordVectors(words, draw.normal(size=(VOCABULARY, 32)))
        self.sentences = []
        for _ in range(SENTENCES):
            row = draw.integers(VOCABULARY, size=draw.integers(1, 25)).tolist()
            tags = ["B-a" if word % 7 == 0 else "B-b" if word % 7 == 1 else "O" for word in row]
            self.sentences.append(TaggedSentence(tuple(words[word] for word in row), tuple(tags)))
        model = self.tagger()
        rows = TaggedRows(self.sentences, model.vocabulary, model.model.features)
        self.batches = TagBatches(rows, batch_tokens, seed=1, replicas=shares, shapes=shapes)

    def tagger(self, **options):
        """Makes a new `EntityTagger`."""
        options = {**TAGGERS[self.kind], **options}
        return EntityTagger.for_sentences(
            self.sentences, self.vectors, self.kind, "tiny", crf=self.crf, **options
        )

    def model(self, dtype, dropout):
        """Makes a new model."""
        return self.tagger(dtype=dtype, dropout=dropout).model

    def learning(self, model, accumulate):
        """The optimizer of a model, which has its own loss."""
        optimizer = Adam(InverseSquareRoot(3e-3, 20), global_clipnorm=0.5, accumulate=accumulate)
        return {"loss": None, "optimizer": optimizer}


def make_task(name, shares, batch_tokens, shapes=None):
    """Makes the `Translation` or `Tagging` of a name in `TASKS`."""
    return (Translation if name in TRANSLATORS else Tagging)(name, shares, batch_tokens, shapes)


def weights(model):
    """Returns all trainable weights as one array, except the biases of keys.

    They add the same number to all scores of a query, so their gradient is only rounding.
    """
    chosen = [weight for weight in model.trainable_weights if not weight.path.endswith("/b_k")]
    return np.concatenate([keras.ops.convert_to_numpy(weight).ravel() for weight in chosen])

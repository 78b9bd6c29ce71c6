"""One CRF over all corpora of named entities, compared with one CRF for each on a shared encoder.

    python examples/entities.py prepare DATA                       # writes runs/entities/english
    python examples/crf_per_corpus.py --crfs one
    python examples/crf_per_corpus.py --crfs each

Corpora disagree: "Iraqi" is MISC in one and nothing in another, a title belongs to the person or does not.
With `each`, every corpus has scores of tags and transitions of its own over the same BiLSTM, and a sentence
trains those of its own corpus. To tag a text, one of the corpora is chosen.

The tags of all corpora are those of one CRF, with labels such as `gmb.PER`; the score of a tag of another
corpus is lowered by 10,000. All corpora share `O`, which is no loss: a softmax or a CRF does not change if
the same number is added to the scores of all tags.
"""

import argparse
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np
from entities import read, relabel, score_file
from keras import ops

from keraszoo import EntityTagger
from keraszoo.models import RecurrentTagger
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.tag_batches import TagBatches, TaggedRows

CORPORA = ("gmb", "btc", "wnut17", "wikigold", "web", "loans")
TESTS = {"btc": "btc", "gmb": "gmb", "uner_ewt": "web", "wikigold": "wikigold", "wnut17": "wnut17"}
NEVER_TRAINED_ON = ("uner_pud", "worldwide")
OTHER = -1e4
BATCH_TOKENS, LEARNING_RATE, WARMUP_STEPS = 512, 0.003, 500


class CorpusTagger(RecurrentTagger):
    """A recurrent tagger of sentences whose corpus, a row of `others`, is known in training."""

    others = None  # (corpora, K): 0 for a tag of the corpus, `OTHER` for one of another corpus

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        scores = y_pred + ops.take(self.others, x["corpus"], axis=0)[:, None]
        return super().compute_loss(x, y, scores, sample_weight, training)


class CorpusBatches(keras.utils.PyDataset):
    """Batches of one corpus each, in random order."""

    def __init__(self, corpora, seed):
        super().__init__()
        self.corpora, self.epoch, self.random = corpora, 0, np.random.default_rng(seed)
        self.places = [(number, i) for number, batches in enumerate(corpora) for i in range(len(batches))]
        self.random.shuffle(self.places)

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        number, i = self.places[index]
        features, tags, weights = self.corpora[number].batch(self.epoch, i)
        return {**features, "corpus": np.full(len(tags), number, "int32")}, tags, weights

    def on_epoch_end(self):
        self.epoch += 1
        self.random.shuffle(self.places)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("runs/entities/english"))
    parser.add_argument("--vectors", default="english_words")
    parser.add_argument("--crfs", choices=["one", "each"], required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    """Trains a tagger and prints its scores."""
    options = arguments()
    corpora = {name: read(options.data / f"train_{name}.tsv") for name in CORPORA}
    if options.crfs == "each":
        corpora = {name: [renamed(s, name) for s in corpus] for name, corpus in corpora.items()}
    keras.utils.set_random_seed(options.seed)
    tagger = EntityTagger.for_sentences(
        [sentence for corpus in corpora.values() for sentence in corpus],
        WordVectors.read(options.vectors),
        keep="all",
        scheme="BIOES",
        backoff=("exact", "lower", "capital", "digits0", "lower+digits0"),
        subword_buckets=32749,
    )
    model = CorpusTagger.from_config(tagger.model.get_config())
    model.build()
    model.set_weights(tagger.model.get_weights())
    tagger = EntityTagger(model, tagger.vocabulary)
    model.others = np.stack([others(tagger, name, options.crfs) for name in CORPORA])
    train(tagger, corpora.values(), options)
    bias = ops.convert_to_numpy(model.scores.bias)
    for number, name in enumerate(CORPORA[:1] if options.crfs == "one" else CORPORA):
        model.scores.bias.assign(bias + model.others[number])
        for test, own in TESTS.items():
            if options.crfs == "one" or own == name:
                report(tagger, options, name, test)
        for test in NEVER_TRAINED_ON:
            report(tagger, options, name, test)


def others(tagger, corpus, crfs):
    """What is added to the scores of tags in a sentence of a corpus."""
    own = f"{corpus}." if crfs == "each" else ""
    labels = [tag[2:] for tag in tagger.vocabulary.tags]
    return np.float32([0 if label.startswith(own) or not label else OTHER for label in labels])


def renamed(sentence, corpus):
    """A sentence whose labels begin with the name of its corpus."""
    names = {label: f"{corpus}.{label}" for label in ("PER", "LOC", "ORG", "MISC")}
    return relabel(sentence, names)


def train(tagger, corpora, options):
    """Trains with Adam and a learning rate that falls to 0 as a cosine."""
    model = tagger.model
    rows = [TaggedRows(corpus, tagger.vocabulary, model.features) for corpus in corpora]
    batches = CorpusBatches(
        [
            TagBatches(some, max(BATCH_TOKENS, some.lengths.max()), seed=options.seed, shapes=None)
            for some in rows
        ],
        options.seed,
    )
    steps = options.epochs * len(batches)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, steps - WARMUP_STEPS), warmup_target=LEARNING_RATE, warmup_steps=WARMUP_STEPS
    )
    model.compile(keras.optimizers.Adam(rate, clipnorm=5.0), jit_compile=False)
    model.fit(batches, epochs=options.epochs, shuffle=False, verbose=2)


def report(tagger, options, corpus, test):
    """Prints the score of the CRF of a corpus on a test set."""

    def tag(sentences):
        return [[without_corpus(t) for t in tags] for tags in tagger.tag_tokens(sentences)]

    scores = score_file(tag, options.data / f"test_{test}.tsv")
    print(f"{options.crfs} seed {options.seed}  CRF {corpus:9}  {test:10} {scores.f1.score:.2f}", flush=True)


def without_corpus(tag):
    """A tag without the name of the corpus: B-gmb.PER becomes B-PER."""
    return tag[:2] + tag[2:].split(".")[-1]


if __name__ == "__main__":
    main()

"""One CRF over all corpora of named entities, compared with one CRF for each on a shared encoder.

    python experiments/entities.py prepare DATA                       # writes runs/entities
    python experiments/crf_per_corpus.py --crfs one
    python experiments/crf_per_corpus.py --crfs each
    python experiments/crf_per_corpus.py --crfs each --corpora biomedical --epochs 20
    python experiments/crf_per_corpus.py --crfs each --start TAGGER --general runs/general.tsv
    python experiments/crf_per_corpus.py --crfs each --backbone FOLDER --epochs 2 --output TAGGER

Corpora disagree: "Iraqi" is MISC in one and nothing in another, a title belongs to the person or does not.
With `each`, every corpus has scores of tags and transitions of its own over the same BiLSTM, and a sentence
trains those of its own corpus. To tag a text, one of the corpora is chosen.

The tags of all corpora are those of one CRF, with labels such as `gmb.PER`. In training, a sentence sees the
scores and transitions of its own corpus alone; `EntityTagger.for_corpus` takes one corpus out afterwards. All
corpora share `O`, which is no loss: a softmax or a CRF does not change if the same number is added to the
scores of all tags. `--start` trains a saved tagger further, with one corpus more, which
experiments/consensus.py writes; or it starts from an encoder that experiments/language_model.py trained. With
`--backbone`, the encoder is a pretrained one, as in the recipe of a tagger, and training has the defaults of
fine-tuning. At the end, `EntityTagger.calibrate` divides the scores of each corpus that has held-out
sentences by a temperature.
"""

import argparse
import dataclasses
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np
from entities import score_file
from entity_corpora import read
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.layers.linear_chain import log_partition, path_score, with_outside
from keraszoo.models.tagging_model import TaggingModel
from keraszoo.models.trained_scores import with_tags
from keraszoo.tagging.recipe import TaggerTrainingSection, fine_tuning
from keraszoo.text.tag_schemes import spans
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.word_vectors import WordVectors
from keraszoo.training.addressed_batches import AddressedBatches
from keraszoo.training.optimizers import make_optimizer
from keraszoo.training.tag_batches import TagBatches, TaggedRows

BATCH_TOKENS, BATCH_SUBWORDS, WARMUP_STEPS = 512, 1024, 500
ON_JAX = keras.backend.backend() == "jax"
SHAPES = 8 if ON_JAX else None  # lengths for which XLA compiles; None: each batch has its own
LARGE = {"gmb", "general"}  # corpora that are not repeated in an epoch


@dataclasses.dataclass(frozen=True)
class Group:
    """Corpora of one kind of text: their files by name, and test files of other corpora."""

    vectors: str
    train: dict
    validation: dict
    tests: dict
    never_trained_on: dict = dataclasses.field(default_factory=dict)


def english(part, *names):
    """The files of corpora in english/, by name."""
    return {name: f"english/{part}_{name}.tsv" for name in names}


def biomedical(part):
    """The files of the biomedical corpora, by name."""
    return {name: f"{name}/{part}.tsv" for name in ("bc5cdr", "ncbi_disease")}


# The first corpus is the default of the saved tagger.
GROUPS = {
    "english": Group(
        "english_words",
        english("train", "wikigold", "gmb", "web", "btc", "wnut17", "loans"),
        english("validation", "wikigold", "gmb", "btc", "wnut17"),
        english("test", "wikigold", "gmb", "btc", "wnut17") | {"web": "english/test_uner_ewt.tsv"},
        english("test", "uner_pud", "worldwide"),
    ),
    "biomedical": Group(
        "biomedical_words", biomedical("train"), biomedical("validation"), biomedical("test")
    ),
}


class LossPerCorpus(TaggingModel):
    """The loss of batches of one corpus each, whose number is the feature `corpus`."""

    own = None  # (corpora, k): the numbers of each corpus's tags among all

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        own = ops.take(self.own, x["corpus"][0], axis=0)
        between = ops.take(ops.take(self.head.chain.transitions, own, axis=0), own, axis=1)
        ends = [ops.take(weight, own) for weight in (self.head.chain.start, self.head.chain.end)]
        mask = self.mask(x)
        scores, moves = with_outside(ops.take(y_pred, own, axis=-1), mask, between, *ends)
        y = ops.where(mask, ops.cast(y, "int32"), len(self.own[0]))
        likelihood = path_score(scores, moves, y) - log_partition(scores, moves)
        return -ops.sum(sample_weight[:, 0] * likelihood)


def corpus_tagger(model):
    """An untrained model of a tagger's class and arguments with the loss of each batch's own corpus."""
    kind = type(model)
    copy = type(f"{kind.__name__}PerCorpus", (LossPerCorpus, kind), {}).from_config(model.get_config())
    copy.build()
    return copy


class CorpusBatches(AddressedBatches):
    """Batches of one corpus each, in random order."""

    def __init__(self, corpora, seed):
        self.corpora, self.seed = corpora, seed
        self.places = [(number, i) for number, batches in enumerate(corpora) for i in range(len(batches))]

    def __len__(self):
        return len(self.places)

    def batch(self, epoch, i):
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self))
        number, place = self.places[order[i]]
        features, tags, weights = self.corpora[number].batch(epoch, place)
        return {**features, "corpus": np.full(len(tags), number, "int32")}, tags, weights


def named_file(text):
    """`btc=more.tsv` is a file for the corpus btc."""
    name, equals, file = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected CORPUS=FILE, got {text}")
    return name, Path(file)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", choices=GROUPS, default="english")
    parser.add_argument("--data", type=Path, default=Path("runs/entities"))
    parser.add_argument("--vectors", help="instead of those that the included tagger has")
    parser.add_argument("--backbone", help="a pretrained encoder in place of a BiLSTM over vectors")
    parser.add_argument("--crfs", choices=["one", "each"], required=True)
    parser.add_argument("--general", type=Path, help="with `each`: a file, the first corpus")
    parser.add_argument(
        "--more",
        type=named_file,
        nargs="+",
        action="extend",
        default=[],
        help="CORPUS=FILE: more sentences",
    )
    parser.add_argument("--start", help="with `each`: a tagger or an encoder whose training goes on")
    parser.add_argument("--attention-heads", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1, help="of small corpora in an epoch")
    parser.add_argument("--cases", type=float, help="share of sentences in capitals, and in small letters")
    parser.add_argument("--learning-rate", type=float, help="the highest; 0.003, or that of fine-tuning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", help="with `each`: where the tagger is saved")
    options = parser.parse_args()
    if (options.general or options.start or options.output) and options.crfs != "each":
        parser.error("--general, --start and --output are for --crfs each")
    if options.cases and not (options.cases <= 0.5 and (1 / options.cases).is_integer()):
        parser.error("--cases must be 1/2, 1/3 and so on")
    if options.start and (options.vectors or options.attention_heads or options.backbone):
        parser.error("--vectors, --attention-heads and --backbone are for a new tagger, not for --start")
    if options.backbone and (options.vectors or options.attention_heads):
        parser.error("--vectors and --attention-heads are not for --backbone")
    if unknown := {name for name, _ in options.more} - set(GROUPS[options.corpora].train):
        parser.error(f"--more: no corpus {min(unknown)}")
    return options


def main():
    """Trains a tagger and prints its scores."""
    options = arguments()
    group = GROUPS[options.corpora]
    first = next(iter(group.train))
    corpora = {"general": read(options.general)} if options.general else {}
    corpora |= {name: read(options.data / file) for name, file in group.train.items()}
    for name, file in options.more:
        corpora[name] = corpora[name] + read(file)
    corpora = in_an_epoch(corpora, options)
    sentences = [sentence for corpus in corpora.values() for sentence in corpus]
    if options.crfs == "each":
        labels = sorted({span.label for s in sentences for span in spans(s.tags, "IOB2")})
        sentences = [dataclasses.replace(s, tags=("O",) * len(s.tokens)) for s in sentences]
        sentences += [every_label(name, labels) for name in corpora]
    keras.utils.set_random_seed(options.seed)
    if options.start:
        labels = [f"{name}.{label}" for name in corpora for label in labels]
        tagger = continued(options.start, labels, group.train)
    elif options.backbone:
        tagger = EntityTagger.for_sentences(
            sentences, model="pretrained", backbone=options.backbone, scheme="BIOES"
        )
    else:
        vectors = WordVectors.read(options.vectors or group.vectors)
        tagger = new_tagger(sentences, vectors, options.attention_heads)
    train(tagger, corpora, options)
    if options.crfs == "one":
        report(tagger, options, "of all", group.tests | group.never_trained_on)
        return
    tagger.corpora = tuple(corpora)
    validation = {"general": group.validation[first]} if options.general else {}
    for name, file in (validation | group.validation).items():
        temperature = tagger.calibrate(read(options.data / file), name)
        print(f"CRF {name:12}  temperature {temperature:.2f}", flush=True)
    if options.output:
        tagger.save_to_preset(options.output, dtype="float16")
    for name in corpora:
        like = first if name == "general" else name
        own = {like: group.tests[like]} if like in group.tests else {}
        report(tagger.for_corpus(name), options, name, own | group.never_trained_on)


def new_tagger(sentences, vectors, attention_heads, units=200):
    """An untrained tagger that knows the labels and characters of sentences, and the words of all vectors."""
    return EntityTagger.for_sentences(
        sentences,
        vectors,
        keep="all",
        scheme="BIOES",
        backoff=("exact", "lower", "capital", "digits0", "lower+digits0"),
        subword_buckets=32749,
        attention_heads=attention_heads,
        units=units,
    )


def in_an_epoch(corpora, options):
    """The sentences of each corpus in an epoch: small ones repeated, some in one case."""
    corpora = {name: some * (1 if name in LARGE else options.repeats) for name, some in corpora.items()}
    for some in corpora.values():
        for case, start in ((str.upper, 0), (str.lower, 1)):
            for i in range(start, len(some), round(1 / options.cases)) if options.cases else ():
                some[i] = dataclasses.replace(some[i], tokens=tuple(map(case, some[i].tokens)))
    return corpora


def every_label(corpus, labels):
    """A sentence with every label of a corpus."""
    return TaggedSentence(tuple(labels), tuple(f"B-{corpus}.{label}" for label in labels))


def continued(directory, labels, order):
    """A saved tagger with other labels; a new corpus begins as the first corpus of `order` that it has.

    A tagger of no corpus, as experiments/language_model.py writes it, gives its own labels to all corpora.
    """
    tagger = EntityTagger.from_preset(directory, all_corpora=True)
    like = next((f"{name}." for name in order if name in tagger.corpora), "")
    if tagger.corpora and not like:
        raise KerasZooError(f"{directory}: has none of the corpora {', '.join(order)}")
    vocabulary = dataclasses.replace(tagger.vocabulary, labels=labels)
    known = set(tagger.vocabulary.tags)
    first = [tag if tag in known else f"{tag[:2]}{like}{tag.partition('.')[2]}" for tag in vocabulary.tags]
    if missing := [tag for tag in first if tag not in known]:
        raise KerasZooError(f"{directory}: has no tag {missing[0]}; it has {', '.join(sorted(known))}")
    numbers = [tagger.vocabulary.tags.index(tag) for tag in first]
    return EntityTagger(with_tags(tagger.model, numbers, vocabulary.transitions()), vocabulary)


def train(tagger, corpora, options):
    """Trains with Adam and a learning rate that falls to 0 as a cosine."""
    pretrained = tagger.vocabulary.subwords is not None
    smallest = BATCH_SUBWORDS if pretrained else BATCH_TOKENS
    vocabularies = [tagger.vocabulary] * len(corpora)
    model = corpus_tagger(tagger.model)
    model.set_weights(tagger.model.get_weights())
    model.own = [range(len(tagger.vocabulary.tags))] * len(corpora)
    if options.crfs == "each":
        vocabularies, model.own = zip(*map(tagger.vocabulary.for_corpus, corpora), strict=True)
    rows = [
        TaggedRows(corpus, vocabulary, model.features)
        for corpus, vocabulary in zip(corpora.values(), vocabularies, strict=True)
    ]
    batches = CorpusBatches(
        [
            TagBatches(some, max(smallest, some.lengths.max()), seed=options.seed, shapes=SHAPES)
            for some in rows
        ],
        options.seed,
    )
    steps = options.epochs * len(batches)
    if pretrained:
        settings = {"learning_rate": options.learning_rate} if options.learning_rate else {}
        settings = TaggerTrainingSection(**fine_tuning({"optimizer": settings}))
        model.compile(make_optimizer(settings.optimizer, steps), jit_compile=ON_JAX)
    else:
        compile_with_adam(model, steps, WARMUP_STEPS, options.learning_rate or 0.003, clipnorm=5.0)
    start = time.perf_counter()
    data, count = batches.for_fit(), len(batches)
    model.fit(data, steps_per_epoch=count, epochs=options.epochs, shuffle=False, verbose=2)
    tagger.model.set_weights(model.get_weights())
    tokens = options.epochs * sum(int(some.lengths.sum()) for some in rows)
    seconds = round(time.perf_counter() - start)
    tagger.metrics["training"] = {"steps": steps, "tokens": tokens, "seconds": seconds}


def compile_with_adam(model, steps, warmup_steps, highest, clipnorm):
    """Compiles a model with a learning rate that rises from 0 and then falls to 0 as a cosine."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, steps - warmup_steps), warmup_target=highest, warmup_steps=warmup_steps
    )
    model.compile(keras.optimizers.Adam(rate, clipnorm=clipnorm), jit_compile=ON_JAX)


def report(tagger, options, corpus, tests):
    """Prints the scores of the CRF of a corpus on test sets."""
    for test, file in tests.items():
        score = score_file(tagger.tag_tokens, options.data / file).f1.score
        print(f"{options.crfs} seed {options.seed}  CRF {corpus:12}  {test:12} {score:.2f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

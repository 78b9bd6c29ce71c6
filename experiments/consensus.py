"""Tags plain text with what several taggers agree on, so that one tagger can learn from all of them.

    python experiments/crf_per_corpus.py --crfs each ... --output runs/english_a   # see lab/TRIALS.md
    python experiments/crf_per_corpus.py --crfs each ... --output runs/english_b
    python experiments/consensus.py runs/english_a runs/english_b --text news.txt.gz --text wikipedia.txt:40 \
        --tagged runs/entities/english/train_gmb.tsv:3 --output runs/general.tsv
    python experiments/crf_per_corpus.py --crfs each --start runs/english_b --general runs/general.tsv ...

Each tagger has a CRF for each corpus. The probabilities of the tags at each word are the mean of those of all
taggers and their CRFs of `--corpora`, and the tags are the best valid ones:

    p(y_t | x) = 1/n sum_i p_i(y_t | x)        y = argmax over valid y of prod_t p(y_t | x)

With `--context 10`, they are also averaged over the repeats of a word in the ten sentences before and after.

The O of a corpus without MISC says nothing about MISC: what it gives to O is shared between O and MISC as in
the corpus before it. Sentences with a word whose tag has a probability below `SURE` are left out, and so are
lines with fewer than `SHORTEST` words, which are mostly headings.
"""

import argparse
import itertools
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import numpy as np
from keras import ops

from keraszoo import EntityTagger
from keraszoo.errors import KerasZooError
from keraszoo.tagging.compiled_tagger import CompiledTagger
from keraszoo.tagging.repeated_words import averaged, best_tags
from keraszoo.tagging.sentence_tagger import BATCH_TOKENS
from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import read_lines, write_lines
from keraszoo.text.tag_schemes import convert
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tokens import sentence_tokens

SURE, SHORTEST, AT_A_TIME = 0.4, 8, 5_000
NEVER_ZERO = 1e-9  # a probability
MISC = "MISC"


def file_and_step(text):
    """`file:3` is every third line or sentence of the file."""
    file, _, step = text.partition(":")
    if int(step or 1) < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0 after the file, not {step}")
    return Path(file), int(step or 1)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taggers", nargs="+", help="directories of taggers of several corpora")
    parser.add_argument(
        "--corpora",
        nargs="+",
        default=["wikigold", "gmb", "web"],
        help="those that a tagger lacks are skipped",
    )
    parser.add_argument("--without-misc", nargs="*", default=["web"], help="corpora that have no MISC")
    parser.add_argument("--text", type=file_and_step, action="append", default=[])
    parser.add_argument("--tagged", type=file_and_step, action="append", default=[], help="tags are not used")
    parser.add_argument("--context", type=int, default=0, help="as for `keraszoo tag`")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    if not options.text and not options.tagged:
        parser.error("expected --text or --tagged")
    if options.corpora[0] in options.without_misc:
        parser.error(f"{options.corpora[0]} has no MISC and cannot be the first corpus")
    return options


class SharedEncoder:
    """The CRFs of some corpora of a tagger; their encoder reads the text once for all of them.

    Args:
        tagger: an `EntityTagger` of several corpora.
        corpora: list of str, some of them.
    """

    def __init__(self, tagger, corpora):
        self.corpora = corpora
        self.alone = [tagger.for_corpus(corpus) for corpus in corpora]
        self.vocabulary = self.alone[0].vocabulary
        self.tagger = tagger.sentence_tagger
        self._own = [tagger.vocabulary.for_corpus(corpus)[1] for corpus in corpora]
        self._program = CompiledTagger(tagger.model, tagger.vocabulary, self._marginals)

    def probabilities(self, sentences):
        """For each corpus the probabilities of its tags, a list of float32 `(T, K)` by sentence."""
        found = [[np.zeros((0, len(self.vocabulary.tags)), "float32")] * len(sentences) for _ in self.corpora]
        for i, *parts in self.tagger.outputs(sentences, BATCH_TOKENS, self._program):
            for of_corpus, part in zip(found, parts, strict=True):
                of_corpus[i] = part
        return found

    def _marginals(self, model, features):
        scores, mask = model.read(features, training=False)[0], model.mask(features)
        return [
            alone.model.head.chain.marginals(ops.take(scores, own, axis=-1), mask)
            for alone, own in zip(self.alone, self._own, strict=True)
        ]


def crfs(directories, corpora):
    """A `SharedEncoder` of each directory, for those of the corpora that it has.

    Raises:
        KerasZooError: if a directory has none of them, or no directory has one of them.
    """
    taggers = []
    for directory in directories:
        tagger = EntityTagger.from_preset(directory, all_corpora=True)
        own = [corpus for corpus in corpora if corpus in tagger.corpora]
        if not own:
            raise KerasZooError(f"{directory}: has none of {', '.join(corpora)}")
        taggers.append(SharedEncoder(tagger, own))
    if nowhere := set(corpora).difference(*(tagger.corpora for tagger in taggers)):
        raise KerasZooError(f"no tagger has the corpus {min(nowhere)}")
    return taggers


def read_sentences(options, rules):
    """The words of the sentences of all files, each sentence once; text is split by `rules`."""
    sentences = {}
    for file, step in options.text:
        for line in itertools.islice(read_lines(file), 0, None, step):
            if len(line.split()) >= SHORTEST:
                found = sentence_tokens(line, rules)
                sentences.update(dict.fromkeys(tuple(token.text for token in tokens) for tokens in found))
    for file, step in options.tagged:
        some = itertools.islice(read_columns(file), 0, None, step)
        sentences.update(dict.fromkeys(tuple(sentence.tokens) for sentence in some))
    return [words for words in sentences if words]


def mean_probabilities(taggers, sentences, without_misc):
    """For each sentence the mean of the probabilities of all CRFs of `SharedEncoder`s, float (T, K)."""
    found = [
        pair
        for tagger in taggers
        for pair in zip(tagger.corpora, tagger.probabilities(sentences), strict=True)
    ]
    tags = taggers[0].vocabulary.tags
    rest = [i for i, tag in enumerate(tags) if tag == "O" or tag.endswith(MISC)]
    total = [0] * len(sentences)
    before = None
    for corpus, probabilities in found:
        for i, some in enumerate(probabilities):
            if corpus in without_misc:
                shares = before[i][:, rest] + NEVER_ZERO
                shares /= shares.sum(1, keepdims=True)
                some[:, rest] = some[:, rest].sum(1, keepdims=True) * shares
            total[i] = total[i] + some / len(found)
        before = before if corpus in without_misc else probabilities
    return total


def least_sure(probabilities, tags):
    """The smallest probability of the tags of each sentence."""
    return [
        some[np.arange(len(chosen)), chosen].min() for some, chosen in zip(probabilities, tags, strict=True)
    ]


def main():
    """Tags the text and writes it."""
    options = arguments()
    taggers = crfs(options.taggers, options.corpora)
    first = taggers[0].corpora[0]
    if first in options.without_misc:
        raise KerasZooError(f"{options.taggers[0]}: expected a corpus with MISC before {first}")
    print("CRFs:", *(corpus for tagger in taggers for corpus in tagger.corpora))
    vocabulary = taggers[0].vocabulary

    def tagged(sentences):
        for start in range(0, len(sentences), AT_A_TIME):
            some = sentences[start : start + AT_A_TIME]
            means = mean_probabilities(taggers, some, options.without_misc)
            if options.context:
                means = averaged(some, means, options.context, documents=[0] * len(some))
            tags = best_tags(taggers[0].alone[0].sentence_tagger.best_tags, means, BATCH_TOKENS)
            for words, numbers, probability in zip(some, tags, least_sure(means, tags), strict=True):
                own = convert([vocabulary.tags[i] for i in numbers], vocabulary.scheme, "IOB2")
                yield TaggedSentence(tuple(words), tuple(own)), probability
            print(f"{start + len(some):,} of {len(sentences):,} sentences", flush=True)

    sentences = read_sentences(options, vocabulary.token_rules)
    kept = [sentence for sentence, least in tagged(sentences) if least >= SURE]
    write_lines(options.output, column_lines(kept))
    print(f"{len(kept):,} sentences kept")


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

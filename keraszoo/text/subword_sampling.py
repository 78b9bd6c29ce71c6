"""Subword sampling: another segmentation of each training sentence in every epoch."""

import functools
import itertools

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.segmenters import SEGMENTERS, processor_for
from keraszoo.text.token_rows import TokenRows

KINDS = tuple(SEGMENTERS)

PLANNING_DRAWS = 3  # a sentence gets room for the longest of so many segmentations
TRIES = 4  # segmentations that are drawn until one has room


class SubwordSampling:
    """Draws segmentations of both sides of a `ParallelCorpus`.

    `bpe_dropout` is algorithm 1 of Provilkov et al.: before each merge of BPE, every possible merge is left
    out with the probability `rate`. (sentencepiece leaves such a merge out for good, so its rate of 0.1 is
    like 0.2 here.) `unigram` draws a segmentation x with a probability proportional to p(x)^rate, so that a
    smaller rate gives more different segmentations. In both, the rate 0 draws nothing: every sentence keeps
    its best segmentation.

    A draw is a pure function of (seed, stream, side, sentence), so a stopped run can resume at any step. The
    text of a sentence stays the same. A sentence with an unknown subword is not sampled.

    Args:
        corpus: a `ParallelCorpus`.
        subwords: the `Subwords` of the source and of the target.
        kind: `"bpe_dropout"` for models of the type `bpe`, `"unigram"` for those of the type `unigram`.
        rate: between 0 and 1; papers take 0.1 for either kind.
        seed: an integer, not negative.

    Raises:
        KerasZooError: an unknown kind, a rate out of range, or a vocabulary of another type.

    Example:

    >>> from keraszoo.text.corpus import ParallelCorpus
    >>> from keraszoo.text.subwords import Subwords
    >>> both = Subwords.train(["low lower lowest", "new newer newest"] * 5, vocabulary_size=22)
    >>> corpus = ParallelCorpus.from_pairs([("lower", "newest")], both, both)
    >>> sampling = SubwordSampling(corpus, (both, both), "bpe_dropout", 0.5, seed=3)
    >>> source, target = sampling.draw(stream=0, indices=[0])
    >>> both.decode([source.ids]), both.decode([target.ids])
    (['lower'], ['newest'])

    Reference:
        Provilkov et al. 2020, BPE-Dropout, https://aclanthology.org/2020.acl-main.170; Kudo 2018 (unigram),
        https://aclanthology.org/P18-1007.
    """

    def __init__(self, corpus, subwords, kind, rate, seed=0):
        if kind not in KINDS:
            raise KerasZooError(f"sampling must be one of {', '.join(KINDS)}, got {kind!r}")
        if not 0 <= rate <= 1:
            raise KerasZooError(f"the rate of {kind} must be from 0 to 1, got {rate}")
        segmenters = [SEGMENTERS[kind](processor_for(side.model_bytes, kind), rate) for side in subwords]
        self.sides = tuple(zip((corpus.sources, corpus.targets), segmenters, strict=True))
        self.kind, self.rate, self.seed = kind, rate, seed
        self._seeds = functools.lru_cache(maxsize=2)(self._new_seeds)

    def __repr__(self):
        return f"<SubwordSampling: {self.kind} {self.rate}, seed {self.seed}>"

    def planned_lengths(self, most):
        """The room that each sentence needs: two int32 arrays (pairs,), the longest of a few draws.

        Args:
            most: the largest room; only a best segmentation gets more.
        """
        if not self.rate:
            return [rows.lengths for rows, _ in self.sides]
        planned = []
        for rows, segmenter in self.sides:
            sentences = (rows[i].tolist() for i in range(len(rows)))
            longest = segmenter.longest(sentences, self.seed, PLANNING_DRAWS)
            planned.append(np.maximum(rows.lengths, np.minimum(longest, most).astype("int32")))
        return planned

    def draw(self, stream, indices, limits=(None, None)):
        """Draws segmentations of some sentences.

        Args:
            stream: an integer, not negative: another one gives other segmentations.
            indices: the numbers of the sentences.
            limits: the largest number of subwords of a source and of a target. If a few draws are longer,
                the sentence keeps its best segmentation.

        Returns:
            Two `TokenRows`, the sources and the targets.
        """
        drawn = []
        for side, seeds, limit in zip(self.sides, self._seeds(stream), limits, strict=True):
            rows, segmenter = side
            sentences = [rows[i].tolist() for i in indices]
            if self.rate:
                own = zip(sentences, seeds[indices].tolist(), strict=True)
                sentences = [_segmentation(segmenter, ids, seed, limit) for ids, seed in own]
            drawn.append(TokenRows.from_lists(sentences))
        return drawn

    def _new_seeds(self, stream):
        """The seed of each sentence of both sides: uint32 (2, pairs)."""
        generator = np.random.default_rng([self.seed, stream, len(KINDS)])
        return generator.integers(2**32, size=(2, len(self.sides[0][0])), dtype="uint32")


def _segmentation(segmenter, best, seed, limit):
    """The first of a few draws that is no longer than the limit, or the best segmentation."""
    draws = itertools.islice(segmenter.draws(best, seed), TRIES)
    return next((ids for ids in draws if limit is None or len(ids) <= limit), best)

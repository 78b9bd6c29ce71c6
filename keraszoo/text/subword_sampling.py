"""Subword sampling: another segmentation of each training sentence in every epoch."""

import contextlib
import functools
import itertools
import math
import random
import threading

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.subwords import WORD_START
from keraszoo.text.token_rows import TokenRows

PLANNING_DRAWS = 3  # a sentence gets room for the longest of so many segmentations
TRIES = 4  # segmentations that are drawn until one has room
_GENERATOR = threading.Lock()  # sentencepiece has one random generator


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
        segmenters = [SEGMENTERS[kind](_processor(side.model_bytes, kind), rate) for side in subwords]
        self.sides = tuple(zip((corpus.sources, corpus.targets), segmenters, strict=True))
        self.kind, self.rate, self.seed = kind, rate, seed
        self._seeds = functools.lru_cache(maxsize=PLANNING_DRAWS + 2)(self._new_seeds)

    def __repr__(self):
        return f"<SubwordSampling: {self.kind} {self.rate}, seed {self.seed}>"

    def planned_lengths(self, most):
        """The room that each sentence needs: two int32 arrays (pairs,), the longest of a few draws.

        Args:
            most: the largest room; only a best segmentation gets more.
        """
        lengths = [rows.lengths for rows, *_ in self.sides]
        for stream in range(PLANNING_DRAWS if self.rate else 0):
            drawn = self.draw(stream, np.arange(len(lengths[0])), (most, most))
            lengths = [
                np.maximum(*pair) for pair in zip(lengths, (rows.lengths for rows in drawn), strict=True)
            ]
        return lengths

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


class BpeDropout:
    """Algorithm 1 of Provilkov et al. 2020 over the pieces of a sentencepiece model.

    Two neighbours can be merged if the vocabulary has what they make, and a piece that comes earlier in the
    vocabulary is made first.
    """

    def __init__(self, processor, rate):
        other = (processor.is_unknown, processor.is_control, processor.is_unused)
        ids = [i for i in range(len(processor)) if not any(kind(i) for kind in other)]
        pieces = processor.id_to_piece(ids)
        self.processor, self.rate = processor, rate
        self.ids = dict(zip(pieces, ids, strict=True))
        ordered = sorted(pieces, key=lambda piece: -processor.get_score(self.ids[piece]))
        self.ranks = {piece: rank for rank, piece in enumerate(ordered) if len(piece) > 1}
        self.inside = {"".join(pair) for piece in pieces for pair in itertools.pairwise(piece)}
        # No merges make bytes and the symbols of a user, so these are whole from the start.
        self.whole = {piece for piece in pieces if self.merged(piece, lambda: 1.0) != [piece]}

    def draws(self, best, seed):
        """Yields segmentations without end, or nothing if a subword or a letter is not in the vocabulary."""
        pieces, draw = self.processor.id_to_piece(best), random.Random(seed).random
        letters = [part for piece in pieces for part in ([piece] if piece in self.whole else piece)]
        if not self.ids.keys() >= {*pieces, *letters}:
            return
        while True:
            yield [self.ids[piece] for word in self.words(letters) for piece in self.merged(word, draw)]

    def words(self, letters):
        """Splits a text at the blanks that no piece of the vocabulary crosses."""
        pairs = map("".join, itertools.pairwise(letters))
        cuts = [i for i, pair in enumerate(pairs, 1) if WORD_START in pair and pair not in self.inside]
        return [letters[start:end] for start, end in itertools.pairwise([0, *cuts, len(letters)])]

    def merged(self, letters, draw):
        """The pieces of a word: the first of the merges that are not left out, until all are."""
        pieces = list(letters)
        while True:
            first = math.inf
            for i, pair in enumerate(itertools.pairwise(pieces)):
                rank = self.ranks.get("".join(pair), first)
                if rank < first and draw() >= self.rate:
                    first, place = rank, i
            if first == math.inf:
                return pieces
            pieces[place : place + 2] = ["".join(pieces[place : place + 2])]


class UnigramDraws:
    """Kudo 2018: sentencepiece draws from all segmentations of a text."""

    def __init__(self, processor, rate):
        self.processor, self.rate = processor, rate

    def draws(self, best, seed):
        """Yields segmentations without end, or nothing if a subword is unknown."""
        import sentencepiece

        if self.processor.unk_id() in best:
            return
        text = self.processor.decode(best)
        sentencepiece.set_random_generator_seed(seed)
        while True:
            yield self.processor.sample_encode_as_ids(text, -1, self.rate)


SEGMENTERS = {"bpe_dropout": BpeDropout, "unigram": UnigramDraws}
KINDS = tuple(SEGMENTERS)


def _segmentation(segmenter, best, seed, limit):
    """The first of a few draws that is no longer than the limit, or the best segmentation."""
    with _GENERATOR:
        draws = itertools.islice(segmenter.draws(best, seed), TRIES)
        return next((ids for ids in draws if limit is None or len(ids) <= limit), best)


def _processor(model_bytes, kind):
    """The segmenter of a sentencepiece model, which must be of the kind.

    Raises:
        KerasZooError: a model of another type.
    """
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model_bytes)
    possible = []
    with contextlib.suppress(RuntimeError):  # models of words and characters draw nothing
        processor.sample_encode_as_ids("a", -1, 0.0)
        possible = ["bpe_dropout"]
        processor.nbest_encode_as_ids("a", 1)  # unigram models alone know the n best
        possible = ["unigram"]
    if kind not in possible:
        other = "".join(possible) or "no sampling"
        raise KerasZooError(f"{kind} does not fit the sentencepiece model, whose type allows {other}")
    return processor

"""Random segmentations of a sentence into subwords, by BPE-dropout or a unigram model."""

import bisect
import contextlib
import functools
import itertools
import math
import random

from keraszoo.errors import KerasZooError
from keraszoo.text.subwords import WORD_START

WORDS_KEPT, LETTERS_KEPT = 1 << 14, 32  # of the words that stay in memory with their pieces


class Segmenter:
    """Draws segmentations of a sentence, each of its words alone. A subclass writes `segmented`.

    Python's generator draws them: that of sentencepiece, even with a seed, differs from process to process.
    """

    from_letters = True  # whether each letter of a word has to be a piece

    def __init__(self, processor, rate):
        other = (processor.is_unknown, processor.is_control, processor.is_unused)
        ids = [i for i in range(len(processor)) if not any(kind(i) for kind in other)]
        self.pieces = processor.id_to_piece(ids)
        self.processor, self.rate = processor, rate
        self.ids = dict(zip(self.pieces, ids, strict=True))
        self.inside = {"".join(pair) for piece in self.pieces for pair in itertools.pairwise(piece)}
        self.whole = set()  # bytes and user-defined symbols, which are never split

    def segmented(self, word, draw):
        """The pieces of a word, a list of letters; `draw` gives random numbers from 0 to 1."""
        raise NotImplementedError

    def draws(self, best, seed):
        """Yields segmentations without end, or nothing if a subword or a letter is not in the vocabulary."""
        words, draw = self.words(best), random.Random(seed).random
        while words:
            yield [self.ids[piece] for word in words for piece in self.segmented(word, draw)]

    def longest(self, sentences, seed, count):
        """The length of the longest of `count` segmentations of each sentence, a list.

        A word has the same ones in every sentence, so each word of the corpus is segmented `count` times.
        """
        known, longest = {}, []
        for best in sentences:
            words = [tuple(word) for word in self.words(best)]
            for word in set(words) - known.keys():
                draw = random.Random(f"{seed} {word}").random
                known[word] = [len(self.segmented(word, draw)) for _ in range(count)]
            lengths = [known[word] for word in words]
            longest.append(max(map(sum, zip(*lengths, strict=True)), default=len(best)))
        return longest

    def words(self, best):
        """The letters of a sentence, split at the blanks that no piece of the vocabulary crosses.

        Returns:
            A list of lists; [] if a subword, or a letter that has to be a piece, is not in the vocabulary.
        """
        pieces = self.processor.id_to_piece(best)
        letters = [part for piece in pieces for part in ([piece] if piece in self.whole else piece)]
        if not self.ids.keys() >= {*pieces, *(letters if self.from_letters else ())}:
            return []
        pairs = map("".join, itertools.pairwise(letters))
        cuts = [i for i, pair in enumerate(pairs, 1) if WORD_START in pair and pair not in self.inside]
        return [letters[start:end] for start, end in itertools.pairwise([0, *cuts, len(letters)])]


class BpeDropout(Segmenter):
    """Algorithm 1 of Provilkov et al. 2020 over the pieces of a sentencepiece model.

    Two adjacent pieces merge if the vocabulary contains their concatenation. Pieces that come earlier in the
    vocabulary are built first.
    """

    def __init__(self, processor, rate):
        super().__init__(processor, rate)
        ordered = sorted(self.pieces, key=lambda piece: -processor.get_score(self.ids[piece]))
        self.ranks = {piece: rank for rank, piece in enumerate(ordered) if len(piece) > 1}
        # What merges do not build starts as one piece.
        self.whole = {piece for piece in self.pieces if self.segmented(piece, lambda: 1.0) != [piece]}

    def segmented(self, word, draw):
        """Repeats the best merge that is not dropped, until none is left."""
        pieces = list(word)
        while True:
            first = math.inf
            for i, pair in enumerate(itertools.pairwise(pieces)):
                rank = self.ranks.get("".join(pair), first)
                if rank < first and draw() >= self.rate:
                    first, place = rank, i
            if first == math.inf:
                return pieces
            pieces[place : place + 2] = ["".join(pieces[place : place + 2])]


class Unigram(Segmenter):
    """Kudo 2018: segmentations x_1 ... x_n of a word in proportion to (p(x_1) ... p(x_n))^rate.

    The pieces are drawn from the last to the first. With F(0) = 1, a word of t letters ends with the piece
    from letter s on with the probability

        p(x_{s:t})^rate F(s) / F(t)        F(t) = sum_s p(x_{s:t})^rate F(s)
    """

    from_letters = False

    def __init__(self, processor, rate):
        super().__init__(processor, rate)
        # A model gives user-defined symbols and bytes the score 0, and a probability below 1 to all others.
        self.scores = {piece: processor.get_score(i) for piece, i in self.ids.items()}
        self.whole = {piece for piece, score in self.scores.items() if score == 0}
        self.most = max(map(len, self.pieces))
        self._known = functools.lru_cache(WORDS_KEPT)(self._last_pieces)

    def segmented(self, word, draw):
        """Draws the pieces, from the last to the first."""
        known = self._known if len(word) <= LETTERS_KEPT else self._last_pieces
        last_pieces, pieces, end = known(tuple(word)), [], len(word)
        while end:
            starts, shares = last_pieces[end - 1]
            start = starts[bisect.bisect(shares, draw(), hi=len(shares) - 1)]
            pieces.append("".join(word[start:end]))
            end = start
        return pieces[::-1]

    def _last_pieces(self, word):
        """For each t: where the last piece of the first t letters can begin, and the sums of the shares."""
        logs, last_pieces = [0.0], []
        for end in range(1, len(word) + 1):
            found = [
                (start, logs[start] + self.rate * self.scores[piece])
                for start in range(max(0, end - self.most), end)
                if (piece := "".join(word[start:end])) in self.scores and logs[start] > -math.inf
            ]
            highest = max((log for _, log in found), default=0.0)
            sums = list(itertools.accumulate(math.exp(log - highest) for _, log in found))
            logs.append(highest + math.log(sums[-1]) if sums else -math.inf)
            last_pieces.append(([start for start, _ in found], [part / sums[-1] for part in sums]))
        return last_pieces


SEGMENTERS = {"bpe_dropout": BpeDropout, "unigram": Unigram}


def processor_for(model_bytes, kind):
    """Returns the processor of a sentencepiece model, which must be of the kind.

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

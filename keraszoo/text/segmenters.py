"""Random segmentations of a sentence into subwords, by BPE-dropout or a unigram model."""

import contextlib
import itertools
import math
import random

from keraszoo.errors import KerasZooError
from keraszoo.text.subwords import WORD_START


class BpeDropout:
    """Algorithm 1 of Provilkov et al. 2020 over the pieces of a sentencepiece model.

    Two adjacent pieces merge if the vocabulary contains their concatenation. Pieces that come earlier in the
    vocabulary are built first.
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
        # Bytes and user-defined symbols are not built by merges, so each starts as one piece.
        self.whole = {piece for piece in pieces if self.merged(piece, lambda: 1.0) != [piece]}

    def draws(self, best, seed):
        """Yields segmentations without end, or nothing if a subword or a letter is not in the vocabulary."""
        words, draw = self.words(best), random.Random(seed).random
        while words:
            yield [self.ids[piece] for word in words for piece in self.merged(word, draw)]

    def longest(self, sentences, seed, count):
        """The length of the longest of `count` segmentations of each sentence, a list.

        A word has the same ones in every sentence, so each word of the corpus is segmented `count` times.
        """
        known, longest = {}, []
        for best in sentences:
            words = [tuple(word) for word in self.words(best)]
            for word in set(words) - known.keys():
                draw = random.Random(f"{seed} {word}").random
                known[word] = [len(self.merged(word, draw)) for _ in range(count)]
            lengths = [known[word] for word in words]
            longest.append(max(map(sum, zip(*lengths, strict=True)), default=len(best)))
        return longest

    def words(self, best):
        """The letters of a sentence, split at the blanks that no piece of the vocabulary crosses.

        Returns:
            A list of lists; [] if a subword or a letter is not in the vocabulary.
        """
        pieces = self.processor.id_to_piece(best)
        letters = [part for piece in pieces for part in ([piece] if piece in self.whole else piece)]
        if not self.ids.keys() >= {*pieces, *letters}:
            return []
        pairs = map("".join, itertools.pairwise(letters))
        cuts = [i for i, pair in enumerate(pairs, 1) if WORD_START in pair and pair not in self.inside]
        return [letters[start:end] for start, end in itertools.pairwise([0, *cuts, len(letters)])]

    def merged(self, letters, draw):
        """The pieces of a word: repeats the best merge that is not dropped, until none is left."""
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

    def longest(self, sentences, seed, count):
        """The length of the longest of `count` segmentations of each sentence, a list."""
        draws = (itertools.islice(self.draws(best, seed), count) for best in sentences)
        return [max(map(len, some), default=0) for some in draws]


SEGMENTERS = {"bpe_dropout": BpeDropout, "unigram": UnigramDraws}


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

"""Word-level distillation: a model also learns which words a teacher expects at each position of a target.

The K likeliest words of the teacher have the shares a_v = w q_v, and the reference has the rest:

    l = (1 - sum_v a_v) l(y, p) - sum_v a_v log p_v

for the distributions p of the model and q of the teacher, and the loss l(y, p) without a teacher. The teacher
reads the corpus once, before the training. Often it is an `Ensemble`: then one model learns from several.
`keraszoo.translation.distillation` teaches by whole translations; a model can learn from both.

Reference: Kim and Rush: Sequence-Level Knowledge Distillation, 2016, section 3.1,
https://aclanthology.org/D16-1139.
"""

import numpy as np

from keraszoo.errors import RecipeError
from keraszoo.messages import say
from keraszoo.text.token_rows import TokenRows

WORDS = 32  # K
CHUNK = 8192  # pairs between two lines of progress


class WordShares:
    """The words that a teacher expects at each position of the targets of a corpus, `</s>` included.

    Args:
        words: integers `(positions, K)`, the positions of all targets one after the other.
        shares: float `(positions, K)`, the a_v, whose sum at a position is at most 1.
        lengths: the number of positions of each target.
    """

    def __init__(self, words, shares, lengths):
        self.words = words
        self.shares = shares
        self.positions = TokenRows(np.arange(len(words)), lengths)

    def batch(self, indices, rows, length):
        """Words and shares of some targets, int32 and float32 `(rows, length, K)`, 0 on padding."""
        positions, lengths = self.positions.gather(indices)
        real = np.zeros((rows, length), "bool")
        real[: len(lengths)] = np.arange(length) < lengths[:, None]
        words = np.zeros((rows, length, self.words.shape[1]), "int32")
        shares = np.zeros(words.shape, "float32")
        words[real], shares[real] = self.words[positions], self.shares[positions]
        return words, shares


def word_shares(translator, corpus, settings):
    """Lets a teacher read the corpus that a translator will be trained on.

    Args:
        translator: the `Translator`.
        corpus: its `ParallelCorpus`.
        settings: a `TrainingSection` with a `teacher`.

    Returns:
        `WordShares`.

    Raises:
        RecipeError: the teacher has other subwords, or the corpus draws its subwords anew in each epoch.
        PresetError: there is no such teacher, or it is unusable.
    """
    if corpus.sampling is not None:
        raise RecipeError("training.teacher: it reads the corpus once, but subwords.sampling changes it")
    teacher = type(translator).from_preset(settings.teacher)
    for side in ("source_subwords", "target_subwords"):
        if getattr(teacher, side) != getattr(translator, side):
            raise RecipeError(f"training.teacher: {settings.teacher} has other {side} than the model")
    count = min(WORDS, teacher.model.target_vocabulary_size)
    words, shares = [], []
    for first in range(0, len(corpus), CHUNK):
        last = min(first + CHUNK, len(corpus))
        sides = ([rows[i] for i in range(first, last)] for rows in (corpus.sources, corpus.targets))
        for positions in teacher.forced_decoding.next_tokens(*sides, count):
            ids, probabilities = zip(*positions, strict=True)
            words.append(np.array(ids, corpus.targets.ids.dtype))
            shares.append((settings.teacher_weight * np.array(probabilities)).astype("float16"))
        say(f"the teacher has read {last:,} of {len(corpus):,} pairs")
    return WordShares(np.concatenate(words), np.concatenate(shares), corpus.targets.lengths + 1)

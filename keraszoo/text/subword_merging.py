"""From subwords to words: their text, and attention between them."""

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.subwords import SPECIAL_NAMES, WORD_START


def join_pieces(pieces):
    """Joins subword pieces into words and tells which word each piece belongs to.

    A piece that begins with U+2581 starts a word, other pieces continue the last one; `<s>`, `</s>` and
    `<pad>` are words of their own.

    Returns:
        (words, indices): list of str; list of int, one per piece, ascending.

    Example:

    >>> join_pieces(["▁ein", "und", "zwanzig", "▁Hunde", ".", "</s>"])
    (['einundzwanzig', 'Hunde.', '</s>'], [0, 0, 0, 1, 1, 2])
    """
    words, indices = [], []
    starts = True
    for piece in pieces:
        alone = piece in SPECIAL_NAMES
        if starts or alone or piece.startswith(WORD_START):
            words.append("")
        words[-1] += piece
        indices.append(len(words) - 1)
        starts = alone
    return [word.replace(WORD_START, " ").strip() for word in words], indices


def merge_subwords(source_pieces, target_pieces, attention_weights):
    """Turns attention between subword pieces into attention between words.

    Weights are summed over the pieces of a source word and averaged over those of a target word, so rows that
    sum to 1 still do.

    Args:
        source_pieces: list of S str.
        target_pieces: list of T str.
        attention_weights: (T, S).

    Returns:
        (source_words, target_words, attention_weights): lists of str, and a float32 array of target words by
        source words.

    Example:

    >>> merge_subwords(["▁ab", "c"], ["▁x", "▁y", "z"], [[0.5, 0.5], [1, 0], [0, 0]])
    (['abc'], ['x', 'yz'], array([[1. ], [0.5]], dtype=float32))
    """
    attention_weights = np.asarray(attention_weights, "float32")
    shape = (len(target_pieces), len(source_pieces))
    if attention_weights.shape != shape:
        raise KerasZooError(
            f"attention_weights: expected shape {shape} (target pieces, source pieces), "
            f"got {attention_weights.shape}"
        )
    source_words, source_indices = join_pieces(source_pieces)
    target_words, target_indices = join_pieces(target_pieces)
    merged = np.zeros((len(target_words), len(source_words)), "float32")
    np.add.at(merged, np.ix_(target_indices, source_indices), attention_weights)
    merged /= np.bincount(target_indices, minlength=len(target_words))[:, None]
    return source_words, target_words, merged

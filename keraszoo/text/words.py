"""From subword pieces to words, for people to look at."""

import numpy as np

from keraszoo.errors import KerasZooError

WORD_START = "\u2581"  # sentencepiece's mark for a blank before a piece
ALONE = ("<s>", "</s>", "<pad>")


def join_pieces(pieces):
    """Returns the words that subword pieces spell, and to which of them each piece belongs.

    A piece that begins with U+2581 starts a word, any other continues the last one; `<s>`, `</s>` and `<pad>`
    are words of their own.

    Args:
        pieces: list of str, as sentencepiece gives them.

    Returns:
        (words, indices): list of str; list of int, one for each piece, ascending.

    Example:

    >>> join_pieces(["▁ein", "und", "zwanzig", "▁Hunde", ".", "</s>"])
    (['einundzwanzig', 'Hunde.', '</s>'], [0, 0, 0, 1, 1, 2])
    """
    words, indices = [], []
    starts = True
    for piece in pieces:
        alone = piece in ALONE
        if starts or alone or piece.startswith(WORD_START):
            words.append("")
        words[-1] += piece
        indices.append(len(words) - 1)
        starts = alone
    return [word.replace(WORD_START, " ").strip() for word in words], indices


def merge_subwords(source_pieces, target_pieces, attention_weights):
    """Turns the attention between subword pieces into the attention between words.

    What a target piece attends to a source word is the sum over that word's pieces; what a target word
    attends is the mean over its pieces. A row that sums to 1 so remains one.

    Args:
        source_pieces: list of S str.
        target_pieces: list of T str.
        attention_weights: (T, S).

    Returns:
        (source_words, target_words, attention_weights): lists of str, and a float32 array of target words by
        source words.

    Raises:
        KerasZooError: the attention weights have another shape.

    Example:

    >>> merge_subwords(["▁ab", "c"], ["▁x", "▁y", "z"], [[0.5, 0.5], [1, 0], [0, 0]])
    (['abc'], ['x', 'yz'], array([[1. ], [0.5]], dtype=float32))
    """
    attention_weights = np.asarray(attention_weights, "float32")
    shape = (len(target_pieces), len(source_pieces))
    if attention_weights.shape != shape:
        raise KerasZooError(
            f"attention_weights: expected shape {shape}, target pieces by source pieces, "
            f"got {attention_weights.shape}"
        )
    source_words, source_indices = join_pieces(source_pieces)
    target_words, target_indices = join_pieces(target_pieces)
    merged = np.zeros((len(target_words), len(source_words)), "float32")
    np.add.at(merged, np.ix_(target_indices, source_indices), attention_weights)
    merged /= np.bincount(target_indices, minlength=len(target_words))[:, None]
    return source_words, target_words, merged

"""Translates and aligns streams of lines: one line in, one line out."""

import itertools
import json

import numpy as np

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.messages import shown
from keraszoo.text.subword_merging import merge_subwords


def translate_lines(translator, lines, chunk=512, **options):
    """Translates lines in chunks, so that files of any length fit in memory: a list of str for each chunk.

    A blank line gives an empty one. `options` are passed on to `translate`.
    """
    for some in in_chunks(lines, chunk):
        # A translation is always printed as one line.
        yield [" ".join(text.splitlines()) for text in translator.translate(some, **options)]


def describe_lines(translator, lines, chunk=512, attention=False, **options):
    """Translates lines like `translate_lines`, with the text of a JSON object for each.

    It has `source`, `text`, `log_prob` (natural log), `hypotheses`, the best first, `confidence` if the
    translator was calibrated, `unknown` if the vocabulary lacks parts of the source, and if `attention` is
    set, the subwords of both sides and the weights, target by source. A blank line has only `source` and an
    empty `text`.
    """
    for some in in_chunks(lines, chunk):
        translations = translator.translate_details(some, **options)
        yield [
            json.dumps({"source": line, **_description(translation, attention)}, ensure_ascii=False)
            for line, translation in zip(some, translations, strict=True)
        ]


def align_lines(translator, pairs, chunk=512):
    """Aligns (source, target) strings: a Pharaoh line `i-j i-j ...` for each, see `word_alignment`."""
    for some in in_chunks(pairs, chunk):
        sides = [list(side) for side in zip(*some, strict=True)]
        weights = translator.align(*sides)
        vocabularies = translator.source_subwords, translator.target_subwords
        pieces = [
            map(subwords.pieces, subwords.encode(side))
            for subwords, side in zip(vocabularies, sides, strict=True)
        ]
        yield [
            " ".join(f"{i}-{j}" for i, j in word_alignment(source, target, matrix))
            for source, target, matrix in zip(*pieces, weights, strict=True)
        ]


def word_alignment(source_pieces, target_pieces, attention_weights):
    """Pairs each target word with the source word that it attends to most: a list of `(i, j)`.

    The weights of a word's subwords are summed; `</s>` is left out on both sides. A target word whose
    attention lies on `</s>` alone has no pair.

    Args:
        source_pieces, target_pieces: lists of subwords without `</s>`; pieces of a source beyond the matrix
            (it was cut) are ignored.
        attention_weights: `(T, S)`, a row and a column for each piece and one for `</s>`.

    Example:

    >>> weights = [[0, 0.1, 0.8, 0.1], [0.3, 0.3, 0.4, 0], [0, 0, 0, 1]]
    >>> word_alignment(["▁ab", "c", "▁d"], ["▁x", "▁y"], weights)
    [(1, 0), (0, 1)]
    """
    weights = np.asarray(attention_weights)[:-1, :-1]
    if not weights.size:
        return []
    *_, weights = merge_subwords(source_pieces[: weights.shape[1]], target_pieces, weights)
    return [(int(row.argmax()), j) for j, row in enumerate(weights) if row.max() > 0]


def in_chunks(lines, size):
    """Yields lists of `size` lines; the last one may be shorter."""
    if isinstance(lines, str):
        raise KerasZooError(f"lines: expected an iterable of str, got one str, {shown(lines)}")
    check_at_least(chunk=(size, 1))
    lines = iter(lines)
    while some := list(itertools.islice(lines, size)):
        yield some


def _description(translation, attention):
    if not translation.hypotheses:  # of a blank line, or none satisfies the constraints
        return {"text": ""}
    description = {
        "text": translation.text,
        "log_prob": float(translation.log_prob),
        "hypotheses": [
            {"text": hypothesis.text, "log_prob": float(hypothesis.log_prob)}
            for hypothesis in translation.hypotheses
        ],
    }
    if translation.confidence is not None:
        description["confidence"] = round(translation.confidence, 4)
    if translation.unknown:
        description["unknown"] = list(translation.unknown)
    if attention:
        description["source_tokens"] = list(translation.source_tokens)
        description["tokens"] = list(translation.tokens)
        description["attention_weights"] = [
            [round(float(weight), 5) for weight in row] for row in translation.attention_weights
        ]
    return description

"""Translates and aligns streams of lines: one line in, one line out."""

import itertools
import json

import numpy as np

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.messages import shown
from keraszoo.text.subword_merging import merge_subwords


def translate_lines(translator, lines, chunk=512, **options):
    """Translates lines in chunks, so that files of any length fit in memory.

    Args:
        translator: an object with `translate(list of str, **options)`, such as a `Translator`.
        lines: an iterable of strings; a blank line gives an empty one.
        chunk: lines read before the first of them is answered.
        **options: passed on to `translate`.

    Returns:
        An iterator of lists of strings, one list per chunk, one string per line.

    Example:

    >>> class Shouting:
    ...     def translate(self, sources):
    ...         return [source.strip().upper() for source in sources]
    >>> list(translate_lines(Shouting(), ["a dog", " ", "a cat"], chunk=2))
    [['A DOG', ''], ['A CAT']]
    """
    for some in in_chunks(lines, chunk):
        # A translation is always printed as one line.
        yield [" ".join(text.splitlines()) for text in translator.translate(some, **options)]


def describe_lines(translator, lines, chunk=512, attention=False, **options):
    """Translates lines like `translate_lines`, with a JSON object for each.

    Args:
        translator: an object with `translate_details(list of str, **options)`.
        lines, chunk: as for `translate_lines`.
        attention: whether to include the subwords of both sides and the attention weights, target by source.
        **options: passed on to `translate_details`.

    Returns:
        An iterator of lists of JSON texts with `source`, `text`, `log_prob` (natural log) and `hypotheses`,
        the best first; a blank line has only `source` and an empty `text`.
    """
    for some in in_chunks(lines, chunk):
        translations = translator.translate_details(some, **options)
        yield [
            json.dumps({"source": line, **_description(translation, attention)}, ensure_ascii=False)
            for line, translation in zip(some, translations, strict=True)
        ]


def align_lines(translator, pairs, chunk=512):
    """Aligns the words of sentences and given translations by the model's attention.

    Args:
        translator: a `Translator` whose model attends.
        pairs: an iterable of (source, target) strings.
        chunk: pairs read before the first of them is answered.

    Returns:
        An iterator of lists of str, one Pharaoh line `i-j i-j ...` per pair; see `word_alignment`.
    """
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
    """Pairs each target word with the source word that it attends to most.

    The weights of a word's subwords are summed; `</s>` is left out on both sides. A target word whose
    attention lies on `</s>` alone has no pair.

    Args:
        source_pieces: list of subwords without `</s>`; pieces beyond the matrix (of a source that was cut)
            are ignored.
        target_pieces: list of subwords without `</s>`.
        attention_weights: `(T, S)`, a row and a column for each piece and one for `</s>`.

    Returns:
        List of `(i, j)`: numbers of a source word and a target word, from 0, in the order of the target.

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
    if attention:
        description["source_tokens"] = list(translation.source_tokens)
        description["tokens"] = list(translation.tokens)
        description["attention_weights"] = [
            [round(float(weight), 5) for weight in row] for row in translation.attention_weights
        ]
    return description

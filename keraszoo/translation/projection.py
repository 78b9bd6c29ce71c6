"""Carries tags of a source to its translation, by attention weights."""

import re

import numpy as np

from keraszoo.text.inline import path
from keraszoo.text.subwords import SPECIAL_NAMES, WORD_START

# Of scripts without blanks between words.
_SYLLABLE = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
WORDS = re.compile(rf"{_SYLLABLE}|(?:(?!{_SYLLABLE})[^\W_])+|[^\s]")
SHARPNESS = 2.0  # the power of the weights


def sentence_weights(translator, sources, translations, batch_size=64):
    """Attention weights and subwords of translations; the weights are those by which words are aligned.

    These are a recurrent model's own, and of a Transformer the mean over the heads of the last but one layer
    of its decoder (Garg et al. 2019, https://aclanthology.org/D19-1453, find the best alignments there).

    Returns:
        List of (source pieces, target pieces, float32 weights `(T, S)`); `</s>` is the last of each.
    """
    vocabularies = translator.source_subwords, translator.target_subwords
    read, written = [
        subwords.encode(side) for subwords, side in zip(vocabularies, (sources, translations), strict=True)
    ]
    cut = [row[: translator.max_source_tokens] for row in read]
    found = translator.forced_decoding.attention_weights(cut, written, batch_size, heads=True)
    results = []
    for source, target, layers in zip(read, written, found, strict=True):
        weights = layers[max(len(layers) - 2, 0)].mean(axis=0)
        unread = np.zeros((len(weights), len(source) + 1 - weights.shape[1]), "float32")
        weights = np.concatenate([weights[:, :-1], unread, weights[:, -1:]], axis=1)
        pieces = [
            [*words.pieces(row), "</s>"] for words, row in zip(vocabularies, (source, target), strict=True)
        ]
        results.append((*pieces, weights))
    return results


class WordWeights:
    """How much each word of a translation attends to each character of its source.

    Columns are divided by their sums, so that a source word which many words attend to counts less for each,
    then rows by theirs; `SHARPNESS` makes large weights larger.

    Args:
        source, translation: the texts.
        source_pieces, target_pieces: their subwords, `</s>` the last.
        weights: `(T, S)`.
        anchors: pairs of spans, of the source and of the translation, that are known to belong together.

    Attributes:
        words: (start, end) of each word or mark of the translation, N of them.
        lengths: float `(N,)`, the weight of each word; 0 for marks, which follow the words next to them.
    """

    def __init__(self, source, translation, source_pieces, target_pieces, weights, anchors=()):
        self.source, self.translation = source, translation
        self.words = [match.span() for match in WORDS.finditer(translation)]
        self.lengths = np.array(
            [(end - start) ** 0.5 * translation[start].isalnum() for start, end in self.words]
        )
        weights = np.array(weights, "float64")[:-1, :-1]  # (T, S)
        weights /= np.maximum(weights.sum(axis=0), 1e-9)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        weights **= SHARPNESS
        source_owners = owners(source, source_pieces)
        read = source_owners >= 0
        spread = np.zeros((weights.shape[1], len(source)))  # (S, characters)
        letters = np.array([1.0 if c.isalnum() else 1e-3 for c in source])
        spread[source_owners[read], np.flatnonzero(read)] = letters[read]
        spread /= np.maximum(np.bincount(source_owners[read], minlength=len(spread))[:, None], 1)
        target_owners = owners(translation, target_pieces)
        average = np.zeros((len(self.words), weights.shape[0]))  # (N, T)
        for row, (start, end) in zip(average, self.words, strict=True):
            mine = target_owners[start:end]
            np.add.at(row, mine[mine >= 0], 1 / (end - start))
        self.weights = average @ (weights @ spread)  # (N, characters)
        for (first, last), (start, end) in anchors:
            inside = [i for i, word in enumerate(self.words) if start <= word[0] and word[1] <= end]
            self.weights[:, first:last] = 0
            self.weights[inside] = 0
            self.weights[np.ix_(inside, range(first, last))] = 1
        self.weights /= np.maximum(self.weights.sum(axis=1, keepdims=True), 1e-9)

    def scores(self, start, end, others=()):
        """How well each span of words translates `source[start:end]`.

        The score is F1 of the words, each weighted by the share of its attention that is in the span, less
        half of what is in `others`, spans of the source that must stay apart.

        Returns:
            float `(N, N)`, at most 1: for the words from i to j, j included; -1 where j < i.
        """
        share, *against = (self.weights[:, a:b].sum(axis=1) for a, b in ((start, end), *others))
        real = (share - 0.5 * sum(against)) * self.lengths
        found, sizes = (np.concatenate([[0], np.cumsum(x)]) for x in (real, self.lengths))
        of_all = np.maximum(share @ self.lengths + sizes[None, 1:] - sizes[:-1, None], 1e-9)
        scores = np.maximum(2 * (found[None, 1:] - found[:-1, None]) / of_all, -0.9)  # (N, N)
        ends = self.lengths > 0
        return np.where(np.triu(np.outer(ends, ends)), scores, -1.0)


def owners(text, pieces):
    """The index of the piece that each character of a text is from; -1 for blanks.

    Where a vocabulary reads characters as others of another number, it is an approximation.

    >>> owners("ab c", ["▁a", "b", "▁c", "</s>"]).tolist()
    [0, 1, -1, 2]
    """
    lengths = [0 if piece in SPECIAL_NAMES else len(piece.replace(WORD_START, "")) for piece in pieces]
    of_read = np.repeat(np.arange(len(pieces)), lengths)
    result = np.full(len(text), -1)
    visible = [i for i, character in enumerate(text) if not character.isspace()]
    if visible and len(of_read):
        result[visible] = of_read[np.arange(len(visible)) * len(of_read) // len(visible)]
    return result


def project(weights, tags, forced):
    """Places tags in a translation: inside of their parents, apart from others if there are words for all.

    Args:
        weights: `WordWeights`.
        tags: list of (start, end, parent) in the source, parents first; `start == end` is a mark.
        forced: for each tag a pair: whether it begins, and ends, where the translation does.

    Returns:
        List of (start, end) in the translation.
    """
    placed = _Placement(weights, tags)
    depths = [len(path(i, placed.parents)) for i in range(len(tags))]
    spans = [i for i, (start, end, _) in enumerate(tags) if start < end]
    for i in sorted(spans, key=lambda i: (depths[i], not any(forced[i]), tags[i][1] - tags[i][0])):
        placed.span(i, *forced[i])  # short ones first, as long ones may take the words of all
    for i, tag in enumerate(tags):
        if tag[0] == tag[1]:
            placed.mark(i)
    return [placed.of[i] for i in range(len(tags))]


class _Placement:
    """The places of tags: `of[i]` is (start, end) of tag i, `ranges[i]` the first and last word of a span."""

    def __init__(self, weights, tags):
        self.weights, self.tags, self.of, self.ranges = weights, tags, {}, {}
        self.parents = [parent for *_, parent in tags]
        self.words, self.source = weights.words, weights.source
        self.first, self.last = np.arange(len(self.words))[:, None], np.arange(len(self.words))[None]

    def span(self, i, at_start, at_end):
        start, end, parent = self.tags[i]
        if not self.words:
            self.of[i] = 0, 0
            return
        apart, nested = self._allowed(path(parent, self.parents))
        siblings = [
            (one, other)
            for j, (one, other, its) in enumerate(self.tags)
            if its == parent and j != i and one < other
        ]
        scores = self.weights.scores(start, end, siblings)
        real = np.flatnonzero(self.weights.lengths)
        if at_start and len(real):
            scores[0] = scores[real[0]]
        if at_end and len(real):
            scores[:, -1] = scores[:, real[-1]]
        if at_start and at_end and len(real):
            scores[0, -1] = 1
        fits = (self.first == 0) | (not at_start), (self.last == len(self.words) - 1) | (not at_end)
        scores = np.where(apart & (scores > -1), scores, np.where(nested, scores - 2, -20.0))
        scores += np.where(fits[0] & fits[1], 0.0, -10.0)
        a, b = map(int, np.unravel_index(scores.argmax(), scores.shape))
        a, b = self._with_marks(a, b, self.source[start:end], apart if apart[a, b] else nested)
        self.ranges[i], self.of[i] = (a, b), (self.words[a][0], self.words[b][1])

    def _allowed(self, ancestors):
        """Which spans of words are inside of the ancestors, and apart, or at least nested: two (N, N)."""
        first, last = self.first, self.last
        apart = nested = last >= first
        for j, (a, b) in self.ranges.items():
            inside, separate = (first >= a) & (last <= b), (last < a) | (first > b)
            if j in ancestors:
                apart, nested = apart & inside, nested & inside
            else:
                apart, nested = apart & separate, nested & (inside | separate | (first <= a) & (last >= b))
        return apart, nested

    def _with_marks(self, a, b, source, allowed):
        """Adds the marks next to a span, as many as the source has at its ends."""
        letters = [at for at, character in enumerate(source) if character.isalnum()]
        if not letters:  # only marks: perhaps the translation has the same
            found = self.weights.translation.find(source)
            same = [
                k
                for k, (start, end) in enumerate(self.words)
                if found <= start and end <= found + len(source)
            ]
            return (same[0], same[-1]) if found >= 0 and same and allowed[same[0], same[-1]] else (a, b)
        lengths, words = self.weights.lengths, self.words
        for _ in range(letters[0]):
            if a > 0 and not lengths[a - 1] and words[a - 1][1] == words[a][0] and allowed[a - 1, b]:
                a -= 1
        for _ in range(len(source) - 1 - letters[-1]):
            if (
                b + 1 < len(words)
                and not lengths[b + 1]
                and words[b][1] == words[b + 1][0]
                and allowed[a, b + 1]
            ):
                b += 1
        return a, b

    def mark(self, i):
        """Places a mark before the word that follows it in the source, or after the one that it touches."""
        at, _, parent = self.tags[i]
        length = len(self.weights.translation)
        low, high = self.of[parent] if parent >= 0 else (0, length)
        first, last = self.tags[parent][:2] if parent >= 0 else (0, len(self.source))
        touches = at > first and not self.source[at - 1].isspace() and not self.source[at : at + 1].isalnum()
        near = self.source[first:at] if touches else self.source[at:last]
        match = (
            (re.search(r"[^\W_]+[^\s\w]*$", near) if touches else WORDS.search(near))
            if near.strip()
            else None
        )
        if at == first or not match or not self.words:
            place = low if at == first else high
        else:
            offset = first if touches else at
            scores = self.weights.scores(offset + match.start(), offset + match.end())
            a, b = map(int, np.unravel_index(scores.argmax(), scores.shape))
            a, b = self._with_marks(a, b, match[0], self.last >= self.first) if touches else (a, b)
            place = self.words[b][1] if touches else self.words[a][0]
        place = min(max(place, low), high)
        # not inside of a span that it was not in
        for j in self.ranges.keys() - path(parent, self.parents):
            start, end = self.of[j]
            if start < place < end:
                place = max(start, low)
        self.of[i] = place, place

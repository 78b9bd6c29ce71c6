"""BLEU by the length of the source: does a model fall off on long sentences?"""

from collections import defaultdict
from dataclasses import dataclass

from keraszoo.errors import ScoreError
from keraszoo.evaluation.translation import Score, as_streams, bleu_details

RESAMPLES = 1000


@dataclass(frozen=True)
class LengthBucket:
    """The sentences of a range of lengths, and how well they were translated.

    Attributes:
        shortest: the least number of source words that belongs here.
        longest: the largest.
        sentences: how many there are.
        bleu: cased BLEU of these sentences alone, tokenised by sacrebleu (13a), with its signature and its
            brevity penalty, which says whether they were cut short.
        margin: half of its 95 % interval, by 1,000 resamples of the sentences; 0 if there is but one.
    """

    shortest: int
    longest: int
    sentences: int
    bleu: Score
    margin: float

    @property
    def label(self):
        """The range, as one writes it on an axis."""
        return str(self.longest) if self.shortest == self.longest else f"{self.shortest}–{self.longest}"

    def __str__(self):
        return f"{self.label} words: {self.bleu.score:.1f} ± {self.margin:.1f} ({self.sentences} sentences)"


def length_buckets(sources, width=10, fewest=30):
    """Sorts sentences by their length in words, into ranges of `width` lengths that are not too empty.

    A range with fewer than `fewest` sentences goes together with the next longer one, and the last of all
    with the one before it: BLEU is a figure of a corpus, and that of five sentences says nothing. So every
    sentence is in one range, and the ranges depend on the sources alone, whatever the model.

    Args:
        sources: list of str, whose words stand between blanks; a blank one counts as one word.
        width: lengths in a range: with 10, 1 to 10, 11 to 20 and so on.
        fewest: sentences that a range has at least, unless there are fewer in all.

    Returns:
        List of `(shortest, longest, indices)`, the shortest first.

    Raises:
        ScoreError: no sentences, one that is no str, or a `width` or `fewest` that is no positive integer.

    Example:

    >>> length_buckets(["a", "a b", "a b c", "a b c d e"], width=2, fewest=2)
    [(1, 2, [0, 1]), (3, 6, [2, 3])]
    """
    for name, value in {"width": width, "fewest": fewest}.items():
        if not isinstance(value, int) or value < 1:
            raise ScoreError(f"{name}: expected a positive integer, got {value!r}")
    if isinstance(sources, str) or not sources or not all(isinstance(source, str) for source in sources):
        raise ScoreError(f"sources: expected a list of str, at least one, got {sources!r:.40}")
    ranges = defaultdict(list)
    for i, source in enumerate(sources):
        ranges[max(0, len(source.split()) - 1) // width].append(i)
    buckets, waiting, shortest = [], [], 1
    for number in sorted(ranges):
        waiting += ranges[number]
        longest = (number + 1) * width
        if len(waiting) >= fewest:
            buckets.append((shortest, longest, waiting))
            waiting, shortest = [], longest + 1
    if waiting:
        last = buckets.pop() if buckets else (1, 0, [])
        buckets.append((last[0], longest, last[2] + waiting))
    return buckets


def bleu_by_length(sources, hypotheses, references, width=10, fewest=30):
    """Scores translations by the length of what was translated.

    The figure of the papers on attention: without it, BLEU falls as sentences grow (Cho et al. 2014b, figure
    4; Bahdanau et al. 2015, figure 2). The ranges share no sentence, so each has a BLEU and a margin of its
    own; the BLEU of the whole is no mean of theirs.

    Args:
        sources: list of str.
        hypotheses: list of str, one translation each.
        references: list of str, or a list of such lists if there are several of each.
        width, fewest: as for `length_buckets`.

    Returns:
        List of `LengthBucket`, the shortest first.

    Raises:
        ScoreError: numbers of sources, hypotheses and references that differ, nothing to score, an item that
            is not a str, or what `length_buckets` refuses.

    Example:

    >>> sources = ["one", "one two three"]
    >>> texts = ["eins", "eins zwei drei vier"]
    >>> print(*bleu_by_length(sources, texts, texts, width=2, fewest=1), sep="; ")
    1–2 words: 0.0 ± 0.0 (1 sentences); 3–4 words: 100.0 ± 0.0 (1 sentences)

    Reference: Koehn: Statistical Significance Tests for Machine Translation Evaluation, 2004,
    https://aclanthology.org/W04-3250, for the resamples.
    """
    hypotheses, streams = as_streams(hypotheses, references)
    if len(sources) != len(hypotheses):
        raise ScoreError(f"sources: {len(sources)} sentences for {len(hypotheses)} hypotheses")
    return [
        _bucket(
            shortest, longest, [hypotheses[i] for i in indices], [[s[i] for i in indices] for s in streams]
        )
        for shortest, longest, indices in length_buckets(sources, width, fewest)
    ]


def _bucket(shortest, longest, hypotheses, streams):
    from sacrebleu.metrics import BLEU

    metric, count = BLEU(tokenize="13a"), len(hypotheses)
    result = metric.corpus_score(hypotheses, streams, n_bootstrap=RESAMPLES if count > 1 else 1)
    margin = float(result._ci) if count > 1 else 0.0  # sacrebleu shows it in texts alone
    bleu = Score("BLEU", float(result.score), str(metric.get_signature()), bleu_details(result))
    return LengthBucket(shortest, longest, count, bleu, margin)

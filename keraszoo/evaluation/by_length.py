"""BLEU by the length of the source, which shows whether a model gets worse on long sentences."""

from collections import defaultdict
from dataclasses import dataclass

from keraszoo.errors import ScoreError, check_at_least, check_texts
from keraszoo.evaluation.tokenizers import choose_tokenizer, fitting_tokenizer
from keraszoo.evaluation.translation import Score, as_streams, scored

RESAMPLES = 1000


@dataclass(frozen=True)
class LengthBucket:
    """The cased BLEU of the `sentences` with `shortest` to `longest` source words.

    `margin` is half of its 95 % interval, from 1,000 resamples of the sentences; 0 for a single sentence.
    """

    shortest: int
    longest: int
    sentences: int
    bleu: Score
    margin: float

    @property
    def label(self):
        """The range as an axis label."""
        return str(self.longest) if self.shortest == self.longest else f"{self.shortest}–{self.longest}"

    def __str__(self):
        return f"{self.label} words: {self.bleu.score:.1f} ± {self.margin:.1f} ({self.sentences} sentences)"


def length_buckets(sources, width=10, fewest=30):
    """Groups sentences by their length in words: a list of `(shortest, longest, indices)`.

    A range with fewer than `fewest` sentences is merged with the next longer one, and the last one with the
    one before it. In scripts without blanks, such as Chinese, characters count.

    >>> length_buckets(["a", "a b", "a b c", "a b c d e"], width=2, fewest=2)
    [(1, 2, [0, 1]), (3, 6, [2, 3])]
    """
    check_at_least(ScoreError, width=(width, 1), fewest=(fewest, 1))
    check_texts(sources, "sources", ScoreError)
    if len(sources) == 0:
        raise ScoreError("sources: expected at least one sentence, got none")
    words = str.split if fitting_tokenizer(sources) in ("13a", "ko-mecab") else str.strip
    ranges = defaultdict(list)
    for i, source in enumerate(sources):
        ranges[max(0, len(words(source)) - 1) // width].append(i)
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


def bleu_by_length(sources, hypotheses, references, width=10, fewest=30, tokenizer=None):
    """Scores translations by the length of the source: without attention, BLEU falls as sentences grow.

    Cho et al. 2014b (figure 4) and Bahdanau et al. 2015 (figure 2) show it. The BLEU of all sentences is not
    the mean of the ranges.

    Args:
        sources, hypotheses: lists of str, one translation per source.
        references, tokenizer: as for `score_translations`.
        width: number of lengths in a range: 10 makes 1 to 10, 11 to 20 and so on.
        fewest: smallest number of sentences in a range, unless there are fewer in total; smaller ranges are
            merged.

    Returns:
        List of `LengthBucket`, the shortest first.

    Raises:
        ScoreError: as `score_translations`, or a `width` or `fewest` that is not a positive integer.

    Example:

    >>> sources = ["one", "one two three"]
    >>> texts = ["eins", "eins zwei drei vier"]
    >>> print(*bleu_by_length(sources, texts, texts, width=2, fewest=1), sep="; ")
    1–2 words: 0.0 ± 0.0 (1 sentences); 3–4 words: 100.0 ± 0.0 (1 sentences)

    Reference: Koehn, 2004, https://aclanthology.org/W04-3250, for the resamples.
    """
    hypotheses, streams = as_streams(hypotheses, references)
    if len(sources) != len(hypotheses):
        raise ScoreError(f"sources: {len(sources)} sentences for {len(hypotheses)} hypotheses")
    tokenizer = choose_tokenizer(streams[0], tokenizer)
    from sacrebleu.metrics import BLEU

    buckets = []
    for shortest, longest, indices in length_buckets(sources, width, fewest):
        metric, count = BLEU(tokenize=tokenizer), len(indices)
        texts, *others = ([side[i] for i in indices] for side in (hypotheses, *streams))
        result = metric.corpus_score(texts, others, n_bootstrap=RESAMPLES if count > 1 else 1)
        margin = float(result._ci) if count > 1 else 0.0  # sacrebleu has no public name for it
        buckets.append(LengthBucket(shortest, longest, count, scored("BLEU", metric, result), margin))
    return buckets

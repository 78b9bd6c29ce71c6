"""Precision, recall and F1 of entities by seqeval, in both of its modes.

With `mode="strict"`, an entity must be valid: in IOB2 it begins with `B-`. The default accepts anything that
looks like an entity, such as `O I-PER`. On valid tags the two agree; on others either may be higher.
"""

import importlib.metadata
import itertools
from collections import Counter
from dataclasses import asdict, dataclass

from keraszoo.errors import DataError, ScoreError
from keraszoo.messages import one_line
from keraszoo.text.tag_choice import relabel
from keraszoo.text.tag_schemes import Span, convert, repair, spans

NONE = ""  # no counterpart of an entity; never a label


@dataclass(frozen=True)
class SpanScore:
    """Precision, recall and F1 of a group of entities, named as in a table; `signature` says who counted.

    Attributes:
        score, precision, recall: F1, and the shares of predicted entities that are right and of gold entities
            that are found, from 0 to 100.
        gold, found: numbers of gold entities, and of predicted ones, right or wrong.

    Without entities, the shares are 0, as in seqeval; for seen and unseen entities `None`, printed `-`.
    """

    name: str
    score: float | None
    precision: float | None
    recall: float | None
    gold: int
    found: int
    signature: str = ""

    def __str__(self):
        shares = (
            f"{'-' if share is None else f'{share:.2f}':>{width}}"
            for share, width in ((self.precision, 9), (self.recall, 6), (self.score, 6))
        )
        return f"{'  '.join(shares)}  {self.gold:7,}  {self.found:7,}  {self.signature}".rstrip()


@dataclass(frozen=True)
class TaggingScores:
    """The scores of tagged sentences; `print` shows them as tables.

    Attributes:
        f1: micro-averaged over all entities, seqeval's strict IOB2: the figure to report.
        f1_default: the same in seqeval's default mode.
        f1_seen, f1_unseen: of entities whose words have the same label in the training text, and of others.
        invalid: number of predicted sequences that are not valid in their scheme.
        labels: list of `SpanScore`, one for each label, strict.
        confusion: dict of dicts: `confusion[label][other]` gold entities of `label` were predicted as
            `other`. The prediction with the same bounds counts, else the one with the largest overlap, else
            `""`. `confusion[""][other]` predictions overlap no gold entity.
        misplaced: number of entities predicted with the right label and other bounds.
        sentences, tokens: how many were scored.
    """

    f1: SpanScore
    f1_default: SpanScore
    f1_seen: SpanScore | None
    f1_unseen: SpanScore | None
    invalid: int
    labels: list
    confusion: dict
    misplaced: int
    sentences: int
    tokens: int

    def as_dict(self):
        """Returns a dict for `json.dump`; the confusion is a list of (gold label, predicted label, count)."""
        values = {key: value for key, value in asdict(self).items() if value is not None}
        confusion = [(label, other, n) for label, row in self.confusion.items() for other, n in row.items()]
        return {**values, "confusion": confusion}

    def __str__(self):
        scores = [self.f1, self.f1_default, *self.labels, self.f1_seen, self.f1_unseen]
        rows = [(one_line(score.name), score) for score in scores if score is not None]
        width = max(len(name) for name, _ in rows)
        lines = [f"{'':<{width}}  precision  recall      F1     gold    found"]
        lines += [f"{name:<{width}}  {score}" for name, score in rows]
        lines += [f"{self.invalid:,} of {self.sentences:,} predicted sequences are invalid, such as O, I-PER"]
        lines += [f"{self.misplaced:,} entities have the right label but other bounds"]
        return "\n".join([*lines, *self._confusion_lines()])

    def _confusion_lines(self):
        labels = sorted({*self.confusion, *itertools.chain(*self.confusion.values())} - {NONE})
        if len(labels) < 2:  # one label cannot be confused
            return []
        rows = [["gold \\ found", *map(one_line, labels), "(none)"]]
        for label in (*labels, NONE):
            row = self.confusion.get(label, {})
            cells = (f"{row.get(other, 0):,}" for other in (*labels, NONE))
            rows.append([one_line(label) or "(none)", *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def known_entities(sentences):
    """The entities of `TaggedSentence`s with tags in IOB2: a set of (words, label), words a tuple of str.

    >>> from keraszoo.text.tagged_corpus import TaggedSentence
    >>> sentence = TaggedSentence(("in", "New", "York"), ("O", "B-LOC", "I-LOC"))
    >>> known_entities([sentence])
    {(('New', 'York'), 'LOC')}
    """
    return {
        (tuple(sentence.tokens[span.start : span.end]), span.label)
        for sentence in sentences
        for span in spans(sentence.tags, "IOB2")
    }


def score_tags(gold, predicted, tokens=None, known=None, scheme="IOB2", labels=None, mapping=None):
    """Scores predicted tags of sentences against the right ones.

    Args:
        gold: list of lists of valid IOB2 tags, one list per sentence (`keraszoo.text.columns` reads these).
        predicted: list of lists of tags of the same lengths; they may be invalid.
        tokens: list of lists of str, the words; needed only with `known`.
        known: the `known_entities` of the training text.
        scheme: of the predicted tags. For a scheme other than IOB2, invalid sequences are counted in that
            scheme and then converted to IOB2 as conlleval reads them.
        labels, mapping: score these labels alone, after renaming on both sides, as `relabel` does.

    Returns:
        A `TaggingScores`.

    Raises:
        ScoreError: nothing to score, lists of different lengths, an unknown tag, or invalid gold tags; the
            message names the sentence.

    Example:

    >>> scores = score_tags([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]])
    >>> scores.f1.score, scores.f1_default.score, scores.invalid
    (0.0, 100.0, 1)

    Reference: Nakayama: seqeval, 2018, https://github.com/chakki-works/seqeval. Lignos, Kamyab: If You Build
    Your Own NER Scorer, Non-replicable Results Will Come, 2020, https://aclanthology.org/2020.insights-1.15.
    """
    gold, predicted = [list(map(list, side)) for side in (gold, predicted)]
    check_gold(gold)
    for name, other in (("predicted", predicted), ("tokens", gold if known is None else tokens or ())):
        if len(other) != len(gold):
            raise ScoreError(f"{name}: {len(other)} sentences for {len(gold)} of gold")
        for i, (right, given) in enumerate(zip(map(len, gold), map(len, other), strict=True)):
            if right != given:
                raise ScoreError(f"{name}[{i}]: {given} tokens for {right} of gold")
    invalid = sum(_repaired("predicted", i, tags, scheme)[1] > 0 for i, tags in enumerate(predicted))
    predicted = _as_iob2(predicted, scheme)
    if labels is not None or mapping is not None:
        gold, predicted = ([relabel(tags, labels, mapping) for tags in side] for side in (gold, predicted))
        known = known and {(words, (mapping or {}).get(label, label)) for words, label in known}
    pairs = _pairs(gold, predicted)
    strict, of_labels = _by_seqeval(gold, predicted, pairs)
    confusion, misplaced = _confusion(pairs)
    seen, unseen = (None, None) if known is None else _by_familiarity(pairs, tokens, known)
    return TaggingScores(
        f1=strict,
        f1_default=_by_seqeval_default(gold, predicted),
        f1_seen=seen,
        f1_unseen=unseen,
        invalid=invalid,
        labels=of_labels,
        confusion=confusion,
        misplaced=misplaced,
        sentences=len(gold),
        tokens=sum(map(len, gold)),
    )


def strict_score(gold, predicted, scheme="IOB2"):
    """The `SpanScore` of `score_tags(...).f1` alone, in less time: `gold` is not checked."""
    gold, predicted = list(map(list, gold)), _as_iob2(predicted, scheme)
    return _by_seqeval(gold, predicted, _pairs(gold, predicted))[0]


def check_gold(gold, tokens=None):
    """Raises ScoreError unless these are lists of valid IOB2 tags, one for each token of a sentence."""
    if not gold:
        raise ScoreError("gold: expected at least one sentence, got none")
    for i, tags in enumerate(gold):
        if tokens is not None and len(tags) != len(tokens[i]):
            raise ScoreError(f"gold[{i}]: {len(tags)} tags for {len(tokens[i])} tokens")
        if _repaired("gold", i, tags, "IOB2")[1]:
            raise ScoreError(f"gold[{i}]: is not valid IOB2: {' '.join(tags)[:60]}")


def _as_iob2(predicted, scheme):
    return [list(tags if scheme == "IOB2" else convert(tags, scheme, "IOB2")) for tags in predicted]


def _pairs(gold, predicted):
    """The spans of each sentence: those of gold, and the strict ones that were predicted: B begins them."""
    return [
        (spans(g, "IOB2"), [span for span in spans(p, "IOB2") if p[span.start].startswith("B-")])
        for g, p in zip(gold, predicted, strict=True)
    ]


def _repaired(name, i, tags, scheme):
    try:
        return repair(tags, scheme)
    except DataError as error:
        raise ScoreError(f"{name}[{i}]: {error}") from None


def _by_seqeval(gold, predicted, pairs):
    """The strict score of all entities, and a list of the scores of each label."""
    from seqeval.scheme import IOB2

    counts = [Counter(span.label for pair in pairs for span in pair[side]) for side in (0, 1)]
    labels = sorted(counts[0] | counts[1])
    report, names = _report(gold, predicted, mode="strict", scheme=IOB2) if labels else ({}, {})
    total = _score("F1, strict IOB2", report.get("micro avg"), *map(Counter.total, counts), "strict IOB2")
    return total, [_score(label, report.get(names[label]), *(c[label] for c in counts)) for label in labels]


def _by_seqeval_default(gold, predicted):
    from seqeval.metrics.sequence_labeling import get_entities

    totals = (len(get_entities(side)) for side in (gold, predicted))
    report, _ = _report(gold, predicted)
    return _score("F1, default", report.get("micro avg"), *totals, "default")


def _report(gold, predicted, **mode):
    """The report of seqeval, a dict, and the name in it of each label.

    Labels get numbers, as it has rows of its own (`micro avg`) and strips hyphens from labels.
    """
    from seqeval.metrics import classification_report

    labels = sorted({tag[2:] for tags in (*gold, *predicted) for tag in tags if tag != "O"})
    if not labels:
        return {}, {}  # seqeval fails without entities
    names = {label: str(number) for number, label in enumerate(labels)}
    numbered = ([relabel(tags, mapping=names) for tags in side] for side in (gold, predicted))
    return classification_report(*numbered, output_dict=True, zero_division=0, **mode), names


def _score(name, values, gold, predicted, mode=None):
    figures = (100 * float((values or {}).get(key, 0)) for key in ("f1-score", "precision", "recall"))
    signature = f"seqeval {importlib.metadata.version('seqeval')}, {mode}" if mode else ""
    return SpanScore(name, *figures, gold, predicted, signature)


def _confusion(pairs):
    """Gold labels against predicted ones, and the number of right labels with other bounds."""
    counts, misplaced = Counter(), 0
    for gold, predicted in pairs:
        met = set()
        for span in gold:
            common = [(min(span.end, other.end) - max(span.start, other.start), other) for other in predicted]
            near = [((other[1:] == span[1:], size), other) for size, other in common if size > 0]
            met.update(other for _, other in near)
            best = max(near, key=lambda found: found[0])[1] if near else Span(NONE, 0, 0)
            counts[span.label, best.label] += 1
            misplaced += best[1:] != span[1:] and best.label == span.label
        counts.update((NONE, other.label) for other in predicted if other not in met)
    confusion = {}
    for (label, other), count in sorted(counts.items()):
        confusion.setdefault(label, {})[other] = count
    return confusion, misplaced


def _by_familiarity(pairs, tokens, known):
    """Scores of the entities whose words are known with their label, and of the others."""
    counts = Counter()
    for (gold, predicted), words in zip(pairs, tokens, strict=True):
        for kind, some in (("gold", gold), ("predicted", predicted), ("right", set(gold) & set(predicted))):
            counts.update((kind, (tuple(words[span.start : span.end]), span.label) in known) for span in some)

    def score(name, seen):
        gold, predicted, right = (counts[kind, seen] for kind in ("gold", "predicted", "right"))
        precision = 100 * right / predicted if predicted else None
        recall, f1 = (100 * right / gold, 200 * right / (gold + predicted)) if gold else (None, None)
        return SpanScore(name, f1, precision, recall, gold, predicted, "strict IOB2")

    return score("F1, seen in training", True), score("F1, unseen", False)

"""Precision, recall and F1 of entities by seqeval, in both of its modes.

seqeval counts in two ways, and toolkits report either. With `mode="strict"` and a scheme, an entity must be
valid: in IOB2 it begins with `B-`. The default accepts anything that looks like an entity, such as `O I-PER`.
On valid tags the two agree; on others either may be higher. This module gives both, and the number of
sequences that are not valid.
"""

import importlib.metadata
import itertools
from collections import Counter
from dataclasses import asdict, dataclass

from keraszoo.errors import DataError, ScoreError
from keraszoo.text.tag_schemes import convert, repair, spans

NONE = "-"  # no counterpart of an entity, and the share of nothing


@dataclass(frozen=True)
class SpanScore:
    """Precision, recall and F1 of a group of entities.

    If the group of seen or unseen entities is empty, its shares are `None`, printed `-`. For all entities and
    for those of a label they are 0, as in seqeval.

    Attributes:
        name: the group, as printed in a table.
        score: F1, from 0 to 100 like the next two; `None` without gold entities.
        precision: share of predicted entities that are right; `None` if none were predicted.
        recall: share of gold entities that were predicted; `None` without gold entities.
        gold: number of gold entities.
        found: number of predicted entities, right or wrong.
        signature: the tool and mode that counted.
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
            f"{NONE if share is None else f'{share:.2f}':>{width}}"
            for share, width in ((self.precision, 9), (self.recall, 6), (self.score, 6))
        )
        return f"{'  '.join(shares)}  {self.gold:7,}  {self.found:7,}  {self.signature}".rstrip()


@dataclass(frozen=True)
class TaggingScores:
    """The scores of tagged sentences; `print` shows them as tables.

    Attributes:
        f1: micro-averaged over all entities, seqeval's strict IOB2: the figure to report.
        f1_default: the same in seqeval's default mode.
        f1_seen: of entities whose words have the same label in the training text; `None` without that text.
        f1_unseen: of the other entities.
        invalid: number of predicted sequences that are not valid in their scheme.
        labels: list of `SpanScore`, one for each label, strict.
        confusion: dict of dicts: `confusion[label][other]` gold entities of `label` were predicted as
            `other`. The prediction with the same bounds counts, else the one with the largest overlap, else
            `"-"`. `confusion["-"][other]` predictions overlap no gold entity.
        misplaced: number of entities predicted with the right label and other bounds.
        sentences: number of scored sentences.
        tokens: number of their tokens.
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
        scores = [score for score in scores if score is not None]
        width = max(len(score.name) for score in scores)
        head = f"{'':<{width}}  precision  recall      F1     gold    found"
        lines = [head, *(f"{score.name:<{width}}  {score}" for score in scores)]
        lines.append(
            f"{self.invalid:,} of {self.sentences:,} predicted sequences are invalid, such as O, I-PER"
        )
        lines.append(f"{self.misplaced:,} entities have the right label but other bounds")
        return "\n".join([*lines, *self._confusion_lines()])

    def _confusion_lines(self):
        labels = sorted({*self.confusion, *itertools.chain(*self.confusion.values())} - {NONE})
        if len(labels) < 2:  # one label cannot be confused
            return []
        labels.append(NONE)
        rows = [["gold \\ found", *labels]]
        for label in labels:
            row = self.confusion.get(label, {})
            rows.append([label, *(f"{row.get(other, 0):,}" for other in labels)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def known_entities(sentences):
    """The entities of a corpus: a set of (words, label), words a tuple of str.

    Args:
        sentences: iterable of `TaggedSentence`, tags in IOB2.

    Example:

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


def score_tags(gold, predicted, tokens=None, known=None, scheme="IOB2"):
    """Scores predicted tags of sentences against the right ones.

    Args:
        gold: list of lists of valid IOB2 tags, one list per sentence (`keraszoo.text.columns` reads these).
        predicted: list of lists of tags of the same lengths; they may be invalid.
        tokens: list of lists of str, the words; needed only with `known`.
        known: the `known_entities` of the training text.
        scheme: of the predicted tags. For a scheme other than IOB2, invalid sequences are counted in that
            scheme and then converted to IOB2 as conlleval reads them.

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
    _check_lengths(gold, predicted, None if known is None else tokens or ())
    invalid = sum(_repaired("predicted", i, tags, scheme)[1] > 0 for i, tags in enumerate(predicted))
    predicted = _as_iob2(predicted, scheme)
    pairs = _pairs(gold, predicted)
    strict, labels = _by_seqeval(gold, predicted, pairs)
    confusion, misplaced = _confusion(pairs)
    seen, unseen = (None, None) if known is None else _by_familiarity(pairs, tokens, known)
    return TaggingScores(
        f1=strict,
        f1_default=_by_seqeval_default(gold, predicted),
        f1_seen=seen,
        f1_unseen=unseen,
        invalid=invalid,
        labels=labels,
        confusion=confusion,
        misplaced=misplaced,
        sentences=len(gold),
        tokens=sum(map(len, gold)),
    )


def strict_score(gold, predicted, scheme="IOB2"):
    """The `SpanScore` of `score_tags(...).f1` alone, in less time: `gold` is not checked.

    Args:
        gold, predicted, scheme: as for `score_tags`.
    """
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
    """Lists of tags in IOB2; tags that are in it already may stay invalid."""
    return [list(tags if scheme == "IOB2" else convert(tags, scheme, "IOB2")) for tags in predicted]


def _pairs(gold, predicted):
    """The spans of each sentence: those of gold, and the strict ones that were predicted."""
    return [(spans(g, "IOB2"), _strict_spans(p)) for g, p in zip(gold, predicted, strict=True)]


def _strict_spans(tags):
    """The spans of possibly invalid IOB2 tags that begin with B."""
    return [span for span in spans(tags, "IOB2") if tags[span.start].startswith("B-")]


def _repaired(name, i, tags, scheme):
    try:
        return repair(tags, scheme)
    except DataError as error:
        raise ScoreError(f"{name}[{i}]: {error}") from None


def _by_seqeval(gold, predicted, pairs):
    """The strict score of all entities, and a list of the scores of each label."""
    from seqeval.scheme import IOB2

    report = _report(gold, predicted, mode="strict", scheme=IOB2) if any(map(any, pairs)) else {}
    counts = [Counter(span.label for pair in pairs for span in pair[side]) for side in (0, 1)]
    totals = (side.total() for side in counts)
    everything = _score("F1, strict IOB2", report, "micro avg", *totals, f"{_seqeval()}, strict IOB2")
    labels = sorted(counts[0] | counts[1])
    return everything, [_score(label, report, label, *(side[label] for side in counts)) for label in labels]


def _by_seqeval_default(gold, predicted):
    from seqeval.metrics.sequence_labeling import get_entities

    totals = (len(get_entities(side)) for side in (gold, predicted))
    return _score("F1, default", _report(gold, predicted), "micro avg", *totals, f"{_seqeval()}, default")


def _report(gold, predicted, **mode):
    from seqeval.metrics import classification_report

    if not any(tag != "O" for tags in (*gold, *predicted) for tag in tags):
        return {}  # seqeval fails without entities
    return classification_report(gold, predicted, output_dict=True, zero_division=0, **mode)


def _score(name, report, key, gold, predicted, signature=""):
    values = report.get(key, Counter())
    figures = (100 * float(values[figure]) for figure in ("f1-score", "precision", "recall"))
    return SpanScore(name, *figures, gold, predicted, signature)


def _seqeval():
    return f"seqeval {importlib.metadata.version('seqeval')}"


def _confusion(pairs):
    """Gold labels against predicted ones, and the number of right labels with other bounds."""
    counts, misplaced = Counter(), 0
    for gold, predicted in pairs:
        met = set()
        for span in gold:
            near = [other for other in reversed(predicted) if _overlap(span, other) > 0]
            met.update(near)
            near.sort(key=lambda other: (_bounds(other) == _bounds(span), _overlap(span, other)))
            best = near[-1] if near else None
            counts[span.label, NONE if best is None else best.label] += 1
            misplaced += best is not None and _bounds(best) != _bounds(span) and best.label == span.label
        counts.update((NONE, other.label) for other in predicted if other not in met)
    confusion = {}
    for (label, other), count in sorted(counts.items()):
        confusion.setdefault(label, {})[other] = count
    return confusion, misplaced


def _bounds(span):
    return span.start, span.end


def _overlap(one, other):
    return min(one.end, other.end) - max(one.start, other.start)


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


def _check_lengths(gold, predicted, tokens):
    for name, other in (("predicted", predicted), ("tokens", tokens)):
        if other is None:
            continue
        if len(other) != len(gold):
            raise ScoreError(f"{name}: {len(other)} sentences for {len(gold)} of gold")
        for i, (right, given) in enumerate(zip(gold, other, strict=True)):
            if len(right) != len(given):
                raise ScoreError(f"{name}[{i}]: {len(given)} tokens for {len(right)} of gold")

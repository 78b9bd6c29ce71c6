"""Precision, recall and F1 of entities by seqeval, called so that the figures compare with anybody's.

seqeval has two ways to count, and toolkits report either. With `mode="strict"` and a scheme, an entity is
what the scheme says it is: in IOB2 it begins with `B-`. The default takes whatever looks like an entity, so
that `O I-PER` holds one, too. On valid tags the two agree; on others either may be the higher. Both are given
here, beside the number of sequences that are not valid.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field

from keraszoo.errors import DataError, ScoreError
from keraszoo.text.tag_schemes import convert, repair, spans

NONE = "-"  # where an entity has no counterpart, and where there is no entity


@dataclass(frozen=True)
class SpanScore:
    """Precision, recall and F1 of some entities.

    Of seen and of unseen entities there may be none; `None`, printed `-`, then stands for the share of
    nothing. Of all entities, and of those of a label, it is 0, as seqeval has it.

    Attributes:
        name: of what, as one writes it in a table.
        score: F1, from 0 to 100, as are the next two; `None` if there are none.
        precision: share of right ones among the entities found; `None` if none was.
        recall: share of those found among the entities that there are; `None` if there are none.
        gold: how many there are.
        found: how many were found, right or wrong.
        signature: who counted, and how.
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
        f1_default: the same as seqeval's default has it.
        f1_seen: of the entities whose words had this label in the training text, too; `None` if that was not
            given.
        f1_unseen: of the others.
        invalid: how many of the predicted sequences are not valid IOB2.
        labels: a list of `SpanScore`, one for each label, strict.
        confusion: dict of dicts: `confusion[label][other]` gold entities of `label` were found as `other`.
            The entity that counts is the one of the same bounds, else that which overlaps most; `"-"` if none
            does, and `confusion["-"][other]` were found where there is nothing.
        misplaced: how many entities were found with the right label and other bounds.
        sentences: how many were scored.
        tokens: in them.
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
        """Returns everything as a dict for `json.dump`; the confusion as a list of (gold, found, count)."""
        values = {key: value for key, value in asdict(self).items() if value is not None}
        confusion = [(gold, found, n) for gold, row in self.confusion.items() for found, n in row.items()]
        return {**values, "confusion": confusion}

    def __str__(self):
        scores = [self.f1, self.f1_default, *self.labels, self.f1_seen, self.f1_unseen]
        scores = [score for score in scores if score is not None]
        width = max(len(score.name) for score in scores)
        head = f"{'':<{width}}  precision  recall      F1     gold    found"
        lines = [head, *(f"{score.name:<{width}}  {score}" for score in scores)]
        lines.append(f"{self.invalid:,} of {self.sentences:,} sequences are not valid IOB2")
        lines.append(f"{self.misplaced:,} entities have the right label and other bounds")
        return "\n".join([*lines, *self._confusion_lines()])

    def _confusion_lines(self):
        columns = sorted({label for row in self.confusion.values() for label in row} - {NONE}) + [NONE]
        rows = sorted(set(self.confusion) - {NONE}) + [NONE]
        if len(rows) + len(columns) < 4:  # with one label there is nothing to confuse
            return []
        width = max(map(len, ["gold \\ found", *rows]))
        cell = [max(len(column), 7) for column in columns]

        def line(name, values):
            return f"{name:<{width}}" + "".join(
                f"  {value:>{size}}" for value, size in zip(values, cell, strict=True)
            )

        table = [[self.confusion.get(row, {}).get(column, 0) for column in columns] for row in rows]
        table = [line(row, [f"{n:,}" for n in numbers]) for row, numbers in zip(rows, table, strict=True)]
        return [line("gold \\ found", columns), *table]


@dataclass
class _Counts:
    """Counted entities of one kind."""

    gold: int = 0
    found: int = 0
    right: int = 0
    name: str = field(default="")

    def score(self, signature=""):
        precision = 100 * self.right / self.found if self.found else None
        recall = 100 * self.right / self.gold if self.gold else None
        f1 = 200 * self.right / (self.gold + self.found) if self.gold else None
        return SpanScore(self.name, f1, precision, recall, self.gold, self.found, signature)


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
        gold: list of lists of IOB2 tags, one list a sentence, valid ones (`keraszoo.text.columns` sees to
            it).
        predicted: list of lists of tags, as many and as long; they may be invalid.
        tokens: list of lists of str, the words; wanted with `known` alone.
        known: what `known_entities` says of the training text.
        scheme: of the predicted tags. If it is another than IOB2, invalid sequences are counted in it, and
            then read as IOB2 as conlleval would.

    Returns:
        A `TaggingScores`.

    Raises:
        ScoreError: nothing to score, lists that differ in length, a tag that is none, or gold that is not
            valid; the sentence is named.

    Example:

    >>> scores = score_tags([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]])
    >>> scores.f1.score, scores.f1_default.score, scores.invalid
    (0.0, 100.0, 1)

    Reference: Nakayama: seqeval, 2018, https://github.com/chakki-works/seqeval. Lignos, Kamyab: If You Build
    Your Own NER Scorer, Non-replicable Results Will Come, 2020, https://aclanthology.org/2020.insights-1.15.
    """
    gold, predicted = [list(map(list, side)) for side in (gold, predicted)]
    _check_lengths(gold, predicted, tokens if known is not None else None)
    invalid = sum(_mended("predicted", i, tags, scheme)[1] > 0 for i, tags in enumerate(predicted))
    if scheme != "IOB2":
        predicted = [list(convert(tags, scheme, "IOB2")) for tags in predicted]
    for i, tags in enumerate(gold):
        if _mended("gold", i, tags, "IOB2")[1]:
            raise ScoreError(f"gold[{i}]: is not valid IOB2: {' '.join(tags)[:60]}")
    pairs = [(_strict_spans(g), _strict_spans(p)) for g, p in zip(gold, predicted, strict=True)]
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


def _strict_spans(tags):
    """The spans that IOB2 has in tags that may be invalid: those that begin with B, and no others."""
    return [span for span in spans(tags, "IOB2") if tags[span.start].startswith("B-")]


def _mended(name, i, tags, scheme):
    try:
        return repair(tags, scheme)
    except DataError as error:
        raise ScoreError(f"{name}[{i}]: {error}") from None


def _by_seqeval(gold, predicted, pairs):
    """The strict score of all entities, and a list of those of each label."""
    from seqeval.scheme import IOB2

    signature = f"seqeval {_version()}, strict IOB2"
    report = _report(gold, predicted, mode="strict", scheme=IOB2)
    counts = [Counter(span.label for pair in pairs for span in pair[side]) for side in (0, 1)]
    everything = _score(
        "F1, strict IOB2", report.get("micro avg"), *(side.total() for side in counts), signature
    )
    labels = sorted(set(counts[0]) | set(counts[1]))
    return everything, [_score(label, report[label], *(side[label] for side in counts)) for label in labels]


def _by_seqeval_default(gold, predicted):
    from seqeval.metrics.sequence_labeling import get_entities

    found = [len(get_entities(side)) for side in (gold, predicted)]
    return _score(
        "F1, default", _report(gold, predicted).get("micro avg"), *found, f"seqeval {_version()}, default"
    )


def _report(gold, predicted, **how):
    from seqeval.metrics import classification_report

    if not any(tag != "O" for tags in (*gold, *predicted) for tag in tags):
        return {}  # seqeval cannot report on nothing
    return classification_report(gold, predicted, output_dict=True, zero_division=0, **how)


def _score(name, figures, gold, found, signature=""):
    figures = figures or {"f1-score": 0.0, "precision": 0.0, "recall": 0.0}
    percent = (100 * float(figures[key]) for key in ("f1-score", "precision", "recall"))
    return SpanScore(name, *percent, gold, found, signature)


def _version():
    import importlib.metadata

    return importlib.metadata.version("seqeval")


def _confusion(pairs):
    """Gold labels against found ones, and how many of the right label have other bounds."""
    confusion, misplaced = {}, 0

    def count(label, other):
        row = confusion.setdefault(label, {})
        row[other] = row.get(other, 0) + 1

    for gold, found in pairs:
        met = set()
        for span in gold:
            exact = [other for other in found if (other.start, other.end) == (span.start, span.end)]
            near = max(found, key=lambda other: _overlap(span, other), default=None)
            other = exact[0] if exact else near if near is not None and _overlap(span, near) > 0 else None
            count(span.label, NONE if other is None else other.label)
            misplaced += other is not None and not exact and other.label == span.label
            met.update(other for other in found if _overlap(span, other) > 0)
        for other in found:
            if other not in met:
                count(NONE, other.label)
    return {label: dict(sorted(row.items())) for label, row in sorted(confusion.items())}, misplaced


def _overlap(one, other):
    return min(one.end, other.end) - max(one.start, other.start)


def _by_familiarity(pairs, tokens, known):
    """Scores of the entities whose words are known with their label, and of the others."""
    counts = {True: _Counts(name="F1, seen in training"), False: _Counts(name="F1, unseen")}
    for (gold, found), words in zip(pairs, tokens, strict=True):

        def kind(span, words=words):
            return counts[(tuple(words[span.start : span.end]), span.label) in known]

        for span in gold:
            kind(span).gold += 1
        for span in found:
            kind(span).found += 1
            kind(span).right += span in gold
    return counts[True].score("strict IOB2"), counts[False].score("strict IOB2")


def _check_lengths(gold, predicted, tokens):
    if not gold:
        raise ScoreError("gold: expected at least one sentence, got none")
    for name, other in (("predicted", predicted), ("tokens", tokens)):
        if other is None:
            continue
        if len(other) != len(gold):
            raise ScoreError(f"{name}: {len(other)} sentences for {len(gold)} of gold")
        for i, (right, given) in enumerate(zip(gold, other, strict=True)):
            if len(right) != len(given):
                raise ScoreError(f"{name}[{i}]: {len(given)} tokens for {len(right)} of gold")

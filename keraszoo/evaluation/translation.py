"""BLEU, chrF and TER by sacrebleu, called such that the figures can be compared with anybody's."""

from dataclasses import asdict, dataclass

from keraszoo.errors import ScoreError


@dataclass(frozen=True)
class Score:
    """One figure and what one must know to get it again.

    Attributes:
        name: what it is, as one writes it in a table.
        score: from 0 to 100; of TER, lower is better and more than 100 possible.
        signature: sacrebleu's: references, case, tokenisation, smoothing, version.
        details: n-gram precisions, brevity penalty and lengths of a BLEU; else empty.
    """

    name: str
    score: float
    signature: str
    details: str = ""


@dataclass(frozen=True)
class TranslationScores:
    """The scores of a translated text; `print` shows them as a table.

    Attributes:
        bleu: cased BLEU on detokenised text, tokenised by sacrebleu (13a): the figure to report.
        bleu_lowercased: the same on lower-cased text, which stands in for the "tokenised lower-cased BLEU" of
            papers on Multi30k or IWSLT. Those count n-grams over tokens of their own (mostly of Moses):
            theirs and this one may differ a little, and the signature says what this one is.
        chrf: chrF2, character n-grams.
        ter: translation edit rate, edits per 100 words of the reference.
        sentences: how many were scored.
    """

    bleu: Score
    bleu_lowercased: Score
    chrf: Score
    ter: Score
    sentences: int

    def as_dict(self):
        """Returns everything as a dict that `json.dump` takes."""
        return asdict(self)

    def __str__(self):
        scores = (self.bleu, self.bleu_lowercased, self.chrf, self.ter)
        width = max(len(score.name) for score in scores)
        return "\n".join(f"{score.name:<{width}}  {score.score:6.2f}  {score.signature}" for score in scores)


def score_translations(hypotheses, references):
    """Scores translations against references: BLEU (cased and lower-cased), chrF and TER.

    Papineni et al. 2002, Popović 2015 and Snover et al. 2006 as implemented by sacrebleu (Post 2018). Text is
    given detokenised, as a reader wants it: sacrebleu tokenises.

    Args:
        hypotheses: list of str, one translation each.
        references: list of str, one for each hypothesis; or, with several references, a list of such lists,
            each a whole reference translation (`references[r][i]` belongs to `hypotheses[i]`).

    Returns:
        A `TranslationScores`.

    Raises:
        ScoreError: nothing to score, or a str in place of a list, an item that is not a str, or numbers of
            hypotheses and references that differ (both are named).

    Example:

    >>> scores = score_translations(["the cat sat on the mat today"], ["the cat sat on the mat"])
    >>> round(scores.bleu.score, 1), round(scores.ter.score, 1)
    (80.9, 16.7)

    Reference: A Call for Clarity in Reporting BLEU Scores, 2018, https://arxiv.org/abs/1804.08771
    """
    hypotheses, streams = as_streams(hypotheses, references)

    from sacrebleu.metrics import BLEU, CHRF, TER

    def score(name, metric):
        result = metric.corpus_score(hypotheses, streams)
        details = bleu_details(result) if isinstance(metric, BLEU) else ""
        return Score(name, float(result.score), str(metric.get_signature()), details)

    return TranslationScores(
        bleu=score("BLEU", BLEU(tokenize="13a")),
        bleu_lowercased=score("BLEU, lower-cased, 13a tokens", BLEU(tokenize="13a", lowercase=True)),
        chrf=score("chrF2", CHRF()),
        ter=score("TER", TER()),
        sentences=len(hypotheses),
    )


def bleu_details(result):
    """N-gram precisions, brevity penalty and lengths of a BLEU, in one line."""
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    lengths = f"hypotheses {result.sys_len}, references {result.ref_len} tokens"
    return f"{precisions} (BP = {result.bp:.3f}, {lengths})"


def as_streams(hypotheses, references):
    """What sacrebleu takes: checked hypotheses, and a list of whole references.

    Args:
        hypotheses, references: as for `score_translations`.

    Returns:
        `(hypotheses, streams)`: a list of str, and a list of such lists, all of one length.

    Raises:
        ScoreError: as `score_translations`.
    """
    hypotheses = _texts("hypotheses", hypotheses)
    if not hypotheses:
        raise ScoreError("hypotheses: expected at least one translation, got none")
    streams = _streams(references)
    for name, stream in streams:
        if len(stream) != len(hypotheses):
            raise ScoreError(f"{name}: {len(stream)} sentences for {len(hypotheses)} hypotheses")
    return hypotheses, [stream for _, stream in streams]


def _streams(references):
    """Returns [(name, list of str), ...], one for each whole reference translation."""
    if not isinstance(references, (list, tuple)):
        raise ScoreError(f"references: expected a list of str or of such lists, got {_kind(references)}")
    if references and isinstance(references[0], (list, tuple)):
        return [(f"references[{r}]", _texts(f"references[{r}]", texts)) for r, texts in enumerate(references)]
    return [("references", _texts("references", references))]


def _texts(name, texts):
    if not isinstance(texts, (list, tuple)):
        raise ScoreError(f"{name}: expected a list of str, got {_kind(texts)}")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ScoreError(f"{name}[{i}]: expected a str, got {_kind(text)}")
    return list(texts)


def _kind(value):
    return f"one str, {value[:20]!r}" if isinstance(value, str) else type(value).__name__

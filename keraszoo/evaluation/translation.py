"""BLEU, chrF and TER by sacrebleu, with signatures, so that others can compare the figures."""

from dataclasses import asdict, dataclass

from keraszoo.errors import ScoreError, check_texts


@dataclass(frozen=True)
class Score:
    """One figure and how it was computed.

    Attributes:
        name: of the metric, as printed in a table.
        score: from 0 to 100; a lower TER is better, and it can exceed 100.
        signature: sacrebleu's: references, case, tokenisation, smoothing, version.
        details: n-gram precisions, brevity penalty and lengths of a BLEU; otherwise empty.
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
        bleu_lowercased: the same on lower-cased text, close to the "tokenised lower-cased BLEU" of papers on
            Multi30k or IWSLT. Those use other tokens (mostly of Moses), so the figures can differ slightly.
        chrf: chrF2, character n-grams.
        ter: translation edit rate, edits per 100 words of the reference.
        sentences: number of scored sentences.
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

    Papineni et al. 2002, Popović 2015 and Snover et al. 2006 as implemented by sacrebleu (Post 2018). Pass
    detokenised text: sacrebleu tokenises it.

    Args:
        hypotheses: list of str.
        references: list of str, one for each hypothesis; or several such lists, each a complete reference
            translation (`references[r][i]` belongs to `hypotheses[i]`).

    Returns:
        A `TranslationScores`.

    Raises:
        ScoreError: nothing to score, a str instead of a list, an item that is not a str, or different numbers
            of hypotheses and references.

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


def cased_bleu(hypotheses, references):
    """The score of `score_translations(...).bleu` alone, a float; TER takes most of the time."""
    hypotheses, streams = as_streams(hypotheses, references)

    from sacrebleu.metrics import BLEU

    return float(BLEU(tokenize="13a").corpus_score(hypotheses, streams).score)


def bleu_details(result):
    """N-gram precisions, brevity penalty and lengths of a BLEU, in one line."""
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    lengths = f"hypotheses {result.sys_len}, references {result.ref_len} tokens"
    return f"{precisions} (BP = {result.bp:.3f}, {lengths})"


def as_streams(hypotheses, references):
    """Checks hypotheses and references and returns them as sacrebleu expects.

    Args:
        hypotheses, references: as for `score_translations`.

    Returns:
        `(hypotheses, streams)`: a list of str, and a list of such lists, all of one length.

    Raises:
        ScoreError: as `score_translations`.
    """
    check_texts(hypotheses, "hypotheses", ScoreError)
    if len(hypotheses) == 0:
        raise ScoreError("hypotheses: expected at least one translation, got none")
    named = {"references": references}
    if isinstance(references, (list, tuple)) and references and isinstance(references[0], (list, tuple)):
        named = {f"references[{r}]": texts for r, texts in enumerate(references)}
    for name, stream in named.items():
        check_texts(stream, name, ScoreError)
        if len(stream) != len(hypotheses):
            raise ScoreError(f"{name}: {len(stream)} sentences for {len(hypotheses)} hypotheses")
    return list(hypotheses), list(map(list, named.values()))

"""BLEU, chrF and TER by sacrebleu, with signatures, so that others can compare the figures."""

from dataclasses import asdict, dataclass

from keraszoo.errors import ScoreError, check_texts
from keraszoo.evaluation.tokenizers import ASIAN, choose_tokenizer, fitting_tokenizer


@dataclass(frozen=True)
class Score:
    """The score of a metric, from 0 to 100; a lower TER is better, and it can exceed 100.

    Attributes:
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
        bleu: cased BLEU on detokenised text, tokenised by sacrebleu: the figure to report.
        bleu_lowercased: the same on lower-cased text, close to the "tokenised lower-cased BLEU" of papers on
            Multi30k or IWSLT. Those use other tokens (mostly of Moses), so the figures can differ slightly.
        chrf: chrF2, character n-grams.
        ter: translation edit rate, edits per 100 words of the reference; each Chinese character is a word.
        sentences: number of scored sentences.
    """

    bleu: Score
    bleu_lowercased: Score
    chrf: Score
    ter: Score
    sentences: int

    def as_dict(self):
        """Returns a dict for `json.dump`."""
        return asdict(self)

    def __str__(self):
        scores = (self.bleu, self.bleu_lowercased, self.chrf, self.ter)
        width = max(len(score.name) for score in scores)
        return "\n".join(f"{score.name:<{width}}  {score.score:6.2f}  {score.signature}" for score in scores)


def score_translations(hypotheses, references, tokenizer=None):
    """Scores translations against references: BLEU (cased and lower-cased), chrF and TER.

    Papineni et al. 2002, Popović 2015 and Snover et al. 2006 as implemented by sacrebleu (Post 2018). Pass
    detokenised text: sacrebleu tokenises it.

    Args:
        hypotheses: list of str.
        references: list of str, one for each hypothesis; or several such lists, each a complete reference
            translation (`references[r][i]` belongs to `hypotheses[i]`).
        tokenizer: sacrebleu's for BLEU, one of `keraszoo.evaluation.TOKENIZERS`; `None`: the one that fits
            the script of the references, `"13a"` for all that have blanks between words.

    Returns:
        A `TranslationScores`.

    Raises:
        ScoreError: nothing to score, a str instead of a list, an item that is not a str, different numbers of
            hypotheses and references, or a tokenizer that is unknown or not installed.

    Example:

    >>> scores = score_translations(["the cat sat on the mat today"], ["the cat sat on the mat"])
    >>> round(scores.bleu.score, 1), round(scores.ter.score, 1)
    (80.9, 16.7)

    Reference: A Call for Clarity in Reporting BLEU Scores, 2018, https://arxiv.org/abs/1804.08771
    """
    hypotheses, streams = as_streams(hypotheses, references)
    tokenizer = choose_tokenizer(streams[0], tokenizer)
    asian = fitting_tokenizer(streams[0]) in ASIAN

    from sacrebleu.metrics import BLEU, CHRF, TER

    def score(name, metric):
        return scored(name, metric, metric.corpus_score(hypotheses, streams))

    lowercased = BLEU(tokenize=tokenizer, lowercase=True)
    return TranslationScores(
        bleu=score("BLEU", BLEU(tokenize=tokenizer)),
        bleu_lowercased=score(f"BLEU, lower-cased, {tokenizer} tokens", lowercased),
        chrf=score("chrF2", CHRF()),
        ter=score("TER", TER(normalized=asian, asian_support=asian)),
        sentences=len(hypotheses),
    )


def cased_bleu(hypotheses, references, tokenizer="13a"):
    """The score of `score_translations(...).bleu` alone, a float; TER takes most of the time."""
    hypotheses, streams = as_streams(hypotheses, references)

    from sacrebleu.metrics import BLEU

    return float(BLEU(tokenize=tokenizer).corpus_score(hypotheses, streams).score)


def scored(name, metric, result):
    """The `Score` of a result of one of sacrebleu's metrics."""
    details = ""
    if hasattr(result, "bp"):  # BLEU
        precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
        lengths = f"hypotheses {result.sys_len}, references {result.ref_len} tokens"
        details = f"{precisions} (BP = {result.bp:.3f}, {lengths})"
    return Score(name, float(result.score), str(metric.get_signature()), details)


def as_streams(hypotheses, references):
    """Checks both and returns a list of str and a list of such lists."""
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

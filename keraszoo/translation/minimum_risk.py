"""Minimum Bayes risk: the translation that is most like all candidates, not the most probable one."""

import dataclasses

import numpy as np

from keraszoo.errors import KerasZooError, check_at_least
from keraszoo.evaluation.pairwise_chrf import pairwise_chrf

SAMPLES = 32


@dataclasses.dataclass(frozen=True)
class MinimumRisk:
    """Chooses among candidates y_1 ... y_N the one with the highest expected chrF2:

        y* = argmax_i sum_j w_j chrF2(y_i, y_j)

    The candidates are samples, which count the same, or the hypotheses of a beam, which count in proportion
    to their probabilities. Each candidate is compared with itself, too.

    Args:
        options: `SearchOptions` of the call; `num_hypotheses` of the candidates are kept.
        candidates: N; `None`: the width of the beam, or `SAMPLES`.

    Reference: Eikema and Aziz: Is MAP Decoding All You Need?, 2020, https://aclanthology.org/2020.coling-main.398;
    Kumar and Byrne 2004, https://aclanthology.org/N04-1022.
    """

    options: object
    candidates: int

    @classmethod
    def of(cls, decision, options, candidates):
        """The `MinimumRisk` of the arguments of a call, or `None` for the most probable translation."""
        if decision not in ("map", "mbr"):
            raise KerasZooError(f'decision must be "map" or "mbr". Received: {decision!r}')
        if decision == "map":
            if candidates is not None:
                raise KerasZooError(f'candidates are for decision="mbr" alone. Received: {candidates!r}')
            return None
        if candidates is None:
            candidates = SAMPLES if options.sampling else options.beam_width
        check_at_least(candidates=(candidates, max(2, options.num_hypotheses)))
        return cls(options, int(candidates))

    def searched(self, search, texts_of):
        """`Hypotheses`, the K best by expected chrF2, which is their score; or what else `search` returns.

        Args:
            search: a function of `SearchOptions` that returns `Hypotheses` of NumPy arrays.
            texts_of: a function of `Hypotheses` that returns lists of lists of `Hypothesis`.
        """
        options, count = self.options, self.candidates
        if options.sampling:
            drawn = [search(options.replace(seed=options.seed + i)) for i in range(count)]
        else:
            wider = max(count, options.beam_width)
            drawn = [search(options.replace(beam_width=wider, num_hypotheses=count))]
        found, kind = [vars(some) for some in drawn], type(drawn[0])
        parts = {
            name: np.concatenate([some[name] for some in found], axis=1)
            for name, part in found[0].items()
            if part is not None
        }
        exists = parts["lengths"] > 0  # (B, N)
        score = np.full(exists.shape, -np.inf)
        for row, there, hypotheses in zip(score, exists, texts_of(kind(**parts)), strict=True):
            weights = np.ones(len(hypotheses))
            if not options.sampling and hypotheses:
                log_prob = np.array([hypothesis.log_prob for hypothesis in hypotheses])
                weights = np.exp(log_prob - log_prob.max())
            utility = pairwise_chrf([hypothesis.text for hypothesis in hypotheses])
            row[there] = utility @ (weights / max(weights.sum(), 1e-9))
        parts["score"] = score
        best = np.argsort(-score, axis=1, kind="stable")[:, : options.num_hypotheses]
        return kind(**{name: part[np.arange(len(part))[:, None], best] for name, part in parts.items()})

"""What a translator returns: hypotheses, and translations with their details."""

import dataclasses
import html

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.subword_merging import merge_subwords


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """A translation from a search: its text, its natural log-probability and its score."""

    text: str
    log_prob: float
    score: float


@dataclasses.dataclass(frozen=True)
class Translation:
    """The translation of one sentence, with its details. A notebook displays it with its attention.

    Attributes:
        text: the best translation.
        log_prob: natural logarithm of its probability, the sum over `tokens`.
        tokens: its T subword pieces, ending with `</s>` (unless cut at the maximum length).
        source_tokens: the S pieces of the source, ending with `</s>`.
        attention_weights: float32 `(T, S)`, row t for token t; `None` if the model does not use attention.
        hypotheses: all requested hypotheses, the best first.
        truncated: whether the source was longer than the model accepts, so that its end was cut.
        unknown: the parts of the source that the vocabulary does not have, distinct str; the model reads each
            as the same unknown subword, and cannot translate it. Also addresses that are not in `text`.
        confidence: the probability that the translation is good, by `Translator.calibrate`; `None` if the
            translator was not calibrated, or nothing was translated.
    """

    text: str
    log_prob: float
    tokens: list
    source_tokens: list
    attention_weights: np.ndarray | None
    hypotheses: list
    truncated: bool = False
    unknown: list = dataclasses.field(default_factory=list)
    confidence: float | None = None

    def plot(self, path=None, subwords=False, title=None, heads=None):
        """Draws the attention weights between words, or between subwords.

        Args:
            path, title: as for `keraszoo.plots.attention_heatmap`.
            subwords: label the axes with subwords.
            heads: (L, H, T, S), the weights of all heads of all layers, drawn as one sheet; for a translation
                of `source` it is `translator.align([source], [translation.tokens], heads=True)[0]`.

        Returns:
            The `matplotlib.figure.Figure`.

        Raises:
            KerasZooError: the model does not use attention, or as for `attention_heatmap`.
        """
        from keraszoo.plots import attention_heatmap, attention_sheet

        if self.attention_weights is None:
            raise KerasZooError("there is no attention to draw: the model does not use attention")
        parts = self.source_tokens, self.tokens, self.attention_weights
        if heads is not None:  # `align` adds a row for `</s>` to a translation that was cut without one
            heads = np.asarray(heads)[:, :, : len(self.tokens)]
        if not subwords:
            *words, weights = merge_subwords(*parts)
            if heads is not None:
                heads = [[merge_subwords(*parts[:2], head)[2] for head in layer] for layer in heads]
            parts = *words, weights
        if heads is not None:
            return attention_sheet(*parts[:2], heads, path=path, title=title)
        return attention_heatmap(*parts, path=path, title=title)

    def _repr_html_(self):
        from keraszoo.plots import attention_table

        text = f"<p>{html.escape(self.text)}</p>"
        if self.attention_weights is None or not self.tokens:
            return text
        return text + attention_table(
            *merge_subwords(self.source_tokens, self.tokens, self.attention_weights)
        )

"""The results of a tagger: entities, tags, probabilities and attention weights."""

import dataclasses
import itertools
import numbers

import numpy as np

from keraszoo.errors import KerasZooError
from keraszoo.text.tag_schemes import spans


@dataclasses.dataclass(frozen=True)
class Entity:
    """A named entity in a text.

    Attributes:
        text: `text[start:end]` of the whole text.
        label: its type, such as `"Disease"`.
        start: position of its first character, from 0.
        end: position after its last character.
        probability: of its least certain word, in [0, 1]; an upper bound of the probability of all its tags.
            With a context, of the label of that word, in any place of an entity.
        attention: the share of the sentence's attention on its words, in [0, 1]; `None` if the model attends
            to nothing.
    """

    text: str
    label: str
    start: int
    end: int
    probability: float
    attention: float | None

    def as_dict(self):
        """Returns a dict for `json.dump`, without an attention of `None`."""
        values = dataclasses.asdict(self)
        return {key: value for key, value in values.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class TaggedTokens:
    """A sentence of T tokens with their tags.

    Attributes:
        tokens: list of str.
        tags: list of str, valid IOB2.
        probabilities: float32 `(T,)`, of each tag; a CRF gives marginal probabilities.
        attention_weights: float32 `(T,)`, with sum 1; `None` if the model attends to nothing.
    """

    tokens: list
    tags: list
    probabilities: np.ndarray
    attention_weights: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class TaggedText:
    """A text, its words and the entities in it. A notebook displays it with its entities highlighted.

    Attributes:
        text: the given text.
        entities: list of `Entity`, in the order of the text.
        tokens: list of T `keraszoo.text.tokens.Token`: `text`, `start` and `end`.
        tags: list of T str, valid IOB2 in each sentence.
        probabilities: float32 `(T,)`, of each tag.
        attention_weights: float32 `(T,)`, with sum 1 in each sentence; `None` without attention.
        sentences: list of (first, last): the sentence holds the tokens `first` to `last - 1`.
    """

    text: str
    entities: list
    tokens: list
    tags: list
    probabilities: np.ndarray
    attention_weights: np.ndarray | None
    sentences: list

    def plot(self, path=None, title=None):
        """Draws the attention over the words of a text of one sentence, with its entities.

        The darkest word has the largest weight, which stands at the left.

        Args:
            path, title: as for `keraszoo.plots.attention_heatmap`.

        Returns:
            The `matplotlib.figure.Figure`.

        Raises:
            KerasZooError: the model does not use attention, the text has several sentences, or as for
                `attention_heatmap`.
        """
        from keraszoo.plots import attention_heatmap

        if self.attention_weights is None:
            raise KerasZooError("there is no attention to draw: the model does not use attention")
        if len(self.sentences) > 1:
            count = len(self.sentences)
            raise KerasZooError(f"a picture shows one sentence, got {count}; a .html file shows any number")
        words = [token.text for token in self.tokens]
        for span in spans(self.tags, "IOB2"):
            words[span.end - 1] += f" [{span.label}]"
        largest = float(max(self.attention_weights, default=0))
        weights = np.asarray(self.attention_weights)[None] / (largest or 1)  # (1, T)
        return attention_heatmap(words, [f"{largest:.2f} ="], weights, path, title)

    def _repr_html_(self):
        from keraszoo.plots import attention_html, entities_html

        attends = self.attention_weights is not None
        return entities_html(self) + (attention_html(self) if attends else "")

    def above(self, threshold):
        """Returns the same text without the entities whose probability is below `threshold`; tags stay.

        Raises:
            KerasZooError: a threshold outside [0, 1].
        """
        check_threshold(threshold)
        sure = [entity for entity in self.entities if entity.probability >= threshold]
        return dataclasses.replace(self, entities=sure)


def check_threshold(threshold):
    """Raises KerasZooError unless a threshold is a probability."""
    if not isinstance(threshold, numbers.Real) or not 0 <= threshold <= 1:
        raise KerasZooError(f"threshold: expected a probability from 0 to 1, got {threshold!r}")


def tagged_text(text, sentences, tagged, attends):
    """Joins the `TaggedTokens` of a text's sentences, lists of `Token`, to a `TaggedText`."""
    bounds = np.cumsum([0, *map(len, sentences)]).tolist()
    nothing = np.zeros(0, "float32")
    entities = [
        Entity(
            text=text[tokens[span.start].start : tokens[span.end - 1].end],
            label=span.label,
            start=tokens[span.start].start,
            end=tokens[span.end - 1].end,
            probability=float(found.probabilities[span.start : span.end].min()),
            attention=float(found.attention_weights[span.start : span.end].sum()) if attends else None,
        )
        for tokens, found in zip(sentences, tagged, strict=True)
        for span in spans(found.tags, "IOB2")
    ]
    return TaggedText(
        text=text,
        entities=entities,
        tokens=list(itertools.chain.from_iterable(sentences)),
        tags=[tag for sentence in tagged for tag in sentence.tags],
        probabilities=np.concatenate([nothing, *(sentence.probabilities for sentence in tagged)]),
        attention_weights=(
            np.concatenate([nothing, *(sentence.attention_weights for sentence in tagged)])
            if attends
            else None
        ),
        sentences=list(itertools.pairwise(bounds)),
    )

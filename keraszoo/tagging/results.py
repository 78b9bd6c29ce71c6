"""What became of a text: its entities, and where the model looked."""

import dataclasses

import numpy as np

from keraszoo.text.tag_schemes import spans


@dataclasses.dataclass(frozen=True)
class Entity:
    """A named entity in a text.

    Attributes:
        text: as it stands there: `text[start:end]` of the whole text.
        label: what it is, such as `"Disease"`.
        start: its first character, counted from 0.
        end: the character behind its last one.
        probability: of its least certain word, in [0, 1]: the probability of all its tags together is no
            greater.
        attention: the share of the attention of its sentence that lay on its words, in [0, 1]; `None` if the
            model attends to nothing.
    """

    text: str
    label: str
    start: int
    end: int
    probability: float
    attention: float | None

    def as_dict(self):
        """Returns everything as a dict that `json.dump` takes; an attention of None is left out."""
        values = dataclasses.asdict(self)
        return {key: value for key, value in values.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class TaggedTokens:
    """A sentence of T tokens with their tags.

    Attributes:
        tokens: list of str.
        tags: list of str, valid IOB2.
        probabilities: float32 `(T,)`, of each tag: by a CRF its marginal, by a softmax its own.
        attention_weights: float32 `(T,)`, where the model looked, 1 in sum; `None` if it attends to nothing.
    """

    tokens: list
    tags: list
    probabilities: np.ndarray
    attention_weights: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class TaggedText:
    """A text, its words and the entities in it.

    Attributes:
        text: as it came.
        entities: list of `Entity`, from the first to the last.
        tokens: list of T `keraszoo.text.tokens.Token`: `text`, `start` and `end`.
        tags: list of T str, valid IOB2 in each sentence.
        probabilities: float32 `(T,)`, of each tag.
        attention_weights: float32 `(T,)`, 1 in sum over each sentence; `None` if the model attends to
            nothing.
        sentences: list of (first, last): sentence i holds the tokens `first` to `last - 1`.
    """

    text: str
    entities: list
    tokens: list
    tags: list
    probabilities: np.ndarray
    attention_weights: np.ndarray | None
    sentences: list


def tagged_text(text, sentences, tagged, attends):
    """Joins what became of the sentences of a text.

    Args:
        text: str.
        sentences: list of lists of `Token`, with places in the whole text.
        tagged: list of `TaggedTokens`, one for each sentence.
        attends: whether the model attends to anything.

    Returns:
        A `TaggedText`.
    """
    bounds = np.cumsum([0, *map(len, sentences)]).tolist()
    nothing = np.zeros(0, "float32")
    return TaggedText(
        text=text,
        entities=[
            entity
            for tokens, found in zip(sentences, tagged, strict=True)
            for entity in entities_of(text, tokens, found)
        ],
        tokens=[token for tokens in sentences for token in tokens],
        tags=[tag for found in tagged for tag in found.tags],
        probabilities=np.concatenate([nothing, *(found.probabilities for found in tagged)]),
        attention_weights=(
            np.concatenate([nothing, *(found.attention_weights for found in tagged)]) if attends else None
        ),
        sentences=list(zip(bounds[:-1], bounds[1:], strict=True)),
    )


def entities_of(text, tokens, found):
    """The entities of a sentence.

    Args:
        text: the whole text.
        tokens: list of `Token`, the sentence's words with their places in the text.
        found: their `TaggedTokens`.

    Returns:
        List of `Entity`.
    """
    weights = found.attention_weights
    return [
        Entity(
            text=text[tokens[span.start].start : tokens[span.end - 1].end],
            label=span.label,
            start=tokens[span.start].start,
            end=tokens[span.end - 1].end,
            probability=float(found.probabilities[span.start : span.end].min()),
            attention=None if weights is None else float(weights[span.start : span.end].sum()),
        )
        for span in spans(found.tags, "IOB2")
    ]

"""The directory of a tagger: the entries of `config.json`, and how a tagger is made of them.

    config.json  words.txt  model.safetensors  metrics.json  README.md  manifest.json

The word vectors are part of the weights. The transitions that the tag scheme permits follow from the tags and
are not stored.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from keraszoo.errors import PresetError
from keraszoo.messages import shown
from keraszoo.registry import model_classes
from keraszoo.saving.entries import Entries, checked
from keraszoo.saving.model_config import make_model
from keraszoo.saving.weights import WEIGHTS, stored_shapes
from keraszoo.text.tagging_features import MOST_CHARACTERS, TaggingVocabulary

WORDS = "words.txt"
MOST_CORPORA = 100


class _Vocabulary(Entries):
    characters: str
    labels: list[str]
    scheme: str
    backoff: list[str]
    word_length: Annotated[int, Field(ge=1, le=MOST_CHARACTERS)]
    token_rules: str


class _Model(Entries, extra="ignore"):
    constrained: bool


class _Config(Entries, extra="ignore"):
    vocabulary: _Vocabulary
    model: _Model
    corpora: Annotated[list[str], Field(max_length=MOST_CORPORA)] = []


def contents(tagger):
    """Returns entries of `config.json`, files, facts and entries of the model's part: `Task._contents`."""
    model, vocabulary = tagger.model, tagger.vocabulary
    stored = {name: getattr(vocabulary, name) for name in _Vocabulary.model_fields}
    config = {"vocabulary": {**stored, "characters": "".join(vocabulary.characters)}}
    labels = vocabulary.labels
    if tagger.corpora:
        config["corpora"] = list(tagger.corpora)
        labels = vocabulary.for_corpus(tagger.corpora[0])[0].labels
    facts = {
        "pipeline_tag": "token-classification",
        "summary": f"It finds {', '.join(labels)}. Vectors of {len(vocabulary.words):,} words.",
        "example": [
            "from keraszoo import EntityTagger",
            'EntityTagger.from_preset("this directory").tag("...")',
        ],
    }
    allowed = model.head.allowed
    if allowed is not None and not all(map(np.array_equal, allowed, vocabulary.transitions())):
        raise PresetError("a directory stores no transitions, but the model permits others than its scheme")
    words = "".join(f"{word}\n" for word in vocabulary.words)
    return config, {WORDS: words}, facts, {"constrained": allowed is not None}


def read(cls, directory):
    """Makes a tagger of class `cls` from a checked directory, without the weights."""
    config = checked(_Config, directory.config, f"{directory.path}: config.json")
    words = directory.read_text(WORDS).split("\n")[:-1]
    vocabulary = TaggingVocabulary(words, **config.vocabulary.model_dump())
    for corpus in config.corpora:
        if not any(label.startswith(f"{corpus}.") for label in vocabulary.labels):
            raise PresetError(f"{directory.path}: config.json: corpora: no label of {shown(corpus)}")
    size, extra = len(vocabulary.tags), {"allowed": None}
    if config.model.constrained:
        if (size, size) not in stored_shapes(
            directory.weights
        ).values():  # before an array of this size is made
            raise PresetError(f"{directory.path}: config.json: {size:,} tags, but {WEIGHTS} has no such CRF")
        extra = {"allowed": vocabulary.transitions()}
    model = make_model(directory, model_classes("tagging").values(), extra)
    return cls(model, vocabulary, config.corpora)

"""The directory of a tagger: the entries of `config.json`, and how a tagger is made of them.

    config.json  words.txt  model.safetensors  metrics.json  README.md  manifest.json

The word vectors are part of the weights. A tagger over a pretrained encoder has the files of its tokenizer,
such as `subwords/vocabulary.txt`. The transitions that the tag scheme permits follow from the tags and are
not stored.
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
from keraszoo.text.pretrained_subwords import FOLDER, PretrainedSubwords
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
    subwords: dict[str, bool | str] | None = None


class _Model(Entries, extra="ignore"):
    constrained: bool


class _Config(Entries, extra="ignore"):
    vocabulary: _Vocabulary
    model: _Model
    corpora: Annotated[list[str], Field(max_length=MOST_CORPORA)] = []


def contents(tagger):
    """Returns entries of `config.json`, files, facts and entries of the model's part: `Task._contents`."""
    model, vocabulary = tagger.model, tagger.vocabulary
    stored = {name: getattr(vocabulary, name) for name in _Vocabulary.model_fields if name != "subwords"}
    config = {"vocabulary": {**stored, "characters": "".join(vocabulary.characters)}}
    known, files = f"Vectors of {len(vocabulary.words):,} words", {}
    if vocabulary.subwords is not None:
        config["vocabulary"]["subwords"] = vocabulary.subwords.config()
        files = vocabulary.subwords.files()
        known = f"It reads {vocabulary.subwords.vocabulary_size:,} subwords"
    labels = vocabulary.labels
    if tagger.corpora:
        config["corpora"] = list(tagger.corpora)
        labels = vocabulary.for_corpus(tagger.corpora[0])[0].labels
    facts = {
        "pipeline_tag": "token-classification",
        "summary": f"It finds {', '.join(labels)}. {known}.",
        "example": [
            "from keraszoo import EntityTagger",
            'EntityTagger.from_preset("this directory").tag("...")',
        ],
    }
    allowed = model.head.allowed
    if allowed is not None and not all(map(np.array_equal, allowed, vocabulary.transitions())):
        raise PresetError("a directory stores no transitions, but the model permits others than its scheme")
    words = "".join(f"{word}\n" for word in vocabulary.words)
    return config, {WORDS: words, **files}, facts, {"constrained": allowed is not None}


def read(cls, directory):
    """Makes a tagger of class `cls` from a checked directory, without the weights."""
    config = checked(_Config, directory.config, f"{directory.path}: config.json")
    words = directory.read_text(WORDS).split("\n")[:-1]
    stored = config.vocabulary.model_dump()
    if stored["subwords"] is not None:
        stored["subwords"] = PretrainedSubwords.from_files(stored["subwords"], directory.path / FOLDER)
    vocabulary = TaggingVocabulary(words, **stored)
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

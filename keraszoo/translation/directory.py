"""The directory of a translator: the entries of `config.json`, and how a translator is made of them."""

from typing import Annotated, Literal

from pydantic import Field

from keraszoo.models.ensemble import Ensemble
from keraszoo.registry import model_classes
from keraszoo.saving import model_directory
from keraszoo.saving.entries import Entries, checked
from keraszoo.saving.model_config import make_model
from keraszoo.search import SearchOptions
from keraszoo.shipping import shipped
from keraszoo.text.subwords import Subwords
from keraszoo.translation.confidence import Confidence

MOST_SOURCE_TOKENS = 100_000


class _Config(Entries, extra="ignore"):
    search: dict
    max_source_tokens: Annotated[int, Field(ge=1, le=MOST_SOURCE_TOKENS)]
    subwords: Annotated[list[str], Field(min_length=1, max_length=2)]
    signs: dict[Literal["source", "target"], str] = {}
    confidence: Confidence | None = None


def contents(translator, portable=False):
    """Returns entries of `config.json`, files, facts and entries of the model's part: `Task._contents`.

    `portable` says whether the vocabularies are for programs that have sentencepiece only.
    """
    sides = translator.source_subwords, translator.target_subwords
    names = ["joint.model"] if sides[0] == sides[1] else ["source.model", "target.model"]
    config = {
        "search": translator.search.as_dict(),
        "max_source_tokens": translator.max_source_tokens,
        "subwords": names,
        "signs": {"source": sides[0].signs, "target": sides[1].signs},
    }
    if translator.confidence is not None:
        config["confidence"] = translator.confidence.model_dump()
    files = [side.portable_bytes if portable else side.model_bytes for side in sides]
    model = translator.model
    members = " and ".join(type(member).__name__ for member in model.members())
    combined = f"The mean of {members}. " if model.members() != [model] else ""
    facts = {
        "pipeline_tag": "translation",
        "summary": f"{combined}Subwords: {model.source_vocabulary_size:,} source, "
        f"{model.target_vocabulary_size:,} target.",
        "example": [
            "from keraszoo import Translator",
            'Translator.from_preset("this directory").translate(["..."])',
        ],
    }
    return config, dict(zip(names, files, strict=False)), facts, {}


def subwords_of(name):
    """The `Subwords` of both sides of a translator, given its directory or its name."""
    directory = model_directory.read_directory(shipped.find(name))
    config = checked(_Config, directory.config, f"{directory.path}: config.json")
    sides = [Subwords(directory.read_bytes(file)) for file in config.subwords]
    return sides[0], sides[-1]


def read(cls, directory):
    """Makes a translator of class `cls` from a checked directory, without the weights."""
    config = checked(_Config, directory.config, f"{directory.path}: config.json")
    model = make_model(directory, [*model_classes("translation").values(), Ensemble])
    files = [directory.read_bytes(file) for file in config.subwords]
    sides = [
        Subwords(file, config.signs.get(side))
        for file, side in zip((files[0], files[-1]), ("source", "target"), strict=True)
    ]
    translator = cls(model, *sides, SearchOptions(**config.search), config.max_source_tokens)
    translator.confidence = config.confidence
    return translator

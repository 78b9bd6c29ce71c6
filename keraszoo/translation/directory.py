"""The directory of a translator: the entries of `config.json`, and how a translator is made of them."""

from keraszoo.errors import PresetError
from keraszoo.saving.model_config import make_model
from keraszoo.search import SearchOptions
from keraszoo.tasks.model_names import model_classes
from keraszoo.text.subwords import Subwords

LARGEST = {"beam_width": 1000, "max_length": 100_000}  # limits for files that do not come from us


def contents(translator):
    """Returns entries of `config.json`, files, facts and entries of the model's part: `Task._contents`."""
    sides = translator.source_subwords, translator.target_subwords
    names = ["joint.model"] if sides[0] == sides[1] else ["source.model", "target.model"]
    config = {
        "search": translator.search.as_dict(),
        "max_source_tokens": translator.max_source_tokens,
        "subwords": names,
    }
    model = translator.model
    facts = {
        "pipeline_tag": "translation",
        "summary": f"Subwords: {model.source_vocabulary_size:,} source, "
        f"{model.target_vocabulary_size:,} target.",
        "example": [
            "from keraszoo import Translator",
            'Translator.from_preset("this directory").translate(["..."])',
        ],
    }
    return config, {name: side.model_bytes for name, side in zip(names, sides, strict=False)}, facts, {}


def read(cls, directory):
    """Makes a translator of class `cls` from a checked directory, without the weights."""
    config = directory.config
    kinds = {kind.__name__: kind for kind in model_classes("translation").values()}
    model = make_model(directory, kinds)
    sides = [Subwords(directory.read_bytes(file)) for file in config["subwords"][:2]]
    search = SearchOptions(**config["search"])
    for option, most in LARGEST.items():
        if getattr(search, option) > most:
            raise PresetError(f"{directory.path}: config.json: {option} is above {most:,}")
    return cls(model, sides[0], sides[-1], search, config["max_source_tokens"])

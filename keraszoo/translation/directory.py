"""A translator as a directory: what `save_to_preset` writes and `from_preset` reads."""

from keraszoo import models
from keraszoo.errors import PresetError
from keraszoo.saving.model_config import make_model
from keraszoo.search import SearchOptions
from keraszoo.tasks import directory as task_directory
from keraszoo.text.subwords import Subwords
from keraszoo.translation.model_names import TRANSLATION_MODELS

TASK = "translation"
LARGEST = {"beam_width": 1000, "max_length": 100_000}  # more of a directory's own search would be an attack


def write(translator, directory, dtype=None):
    """Writes `config.json`, vocabularies, weights, figures and a card; see `model_directory.write_directory`.

    Args:
        translator: a `Translator`.
        directory: where to.
        dtype: of the stored weights, see `save_weights`; it stands in `config.json` too.
    """
    joint = translator.source_subwords == translator.target_subwords
    names = ["joint.model"] if joint else ["source.model", "target.model"]
    sides = translator.source_subwords, translator.target_subwords
    task_directory.write(
        TASK,
        translator,
        directory,
        _about(translator.model),
        {
            "search": translator.search.as_dict(),
            "max_source_tokens": translator.max_source_tokens,
            "subwords": names,
        },
        {name: side.model_bytes for name, side in zip(names, sides, strict=False)},
        dtype,
    )


def read(cls, name):
    """A translator of class `cls` from a directory or the name of a shipped one."""
    directory = task_directory.find(name, TASK)
    config = directory.config
    kinds = {kind: getattr(models, kind) for kind in TRANSLATION_MODELS.values()}
    try:
        model = make_model(directory, kinds)
        sides = [Subwords(directory.read_bytes(file)) for file in config["subwords"][:2]]
        search = SearchOptions(**config["search"])
        for option, most in LARGEST.items():
            if getattr(search, option) > most:
                raise PresetError(f"{directory.path}: config.json: {option} is above {most:,}")
        translator = cls(model, sides[0], sides[-1], search, config["max_source_tokens"])
    except PresetError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        said = f"{directory.path}: config.json is not one of a translator: {error}"
        raise PresetError(" ".join(said.split())) from error
    return task_directory.filled(translator, directory)


def _about(model):
    """What the program knows of it; see `keraszoo.saving.model_facts`."""
    parameters = model.count_params()
    return {
        "title": f"{type(model).__name__}, {parameters:,} parameters",
        "pipeline_tag": "translation",
        "summary": f"Subwords: {model.source_vocabulary_size:,} source, "
        f"{model.target_vocabulary_size:,} target.",
        "example": [
            "from keraszoo import Translator",
            'Translator.from_preset("this directory").translate(["..."])',
        ],
        "parameters": parameters,
    }

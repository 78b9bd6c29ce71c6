"""A translator as a directory: what `save_to_preset` writes and `from_preset` reads."""

import keras

import keraszoo
from keraszoo import models
from keraszoo.errors import PresetError
from keraszoo.saving import about, model_directory
from keraszoo.saving.model_config import make_model
from keraszoo.saving.weights import save_weights
from keraszoo.search import SearchOptions
from keraszoo.shipping import shipped
from keraszoo.tasks.translation_models import TRANSLATION_MODELS
from keraszoo.text.subwords import Subwords

TASK = "translation"
WEIGHTS = "model.weights.h5"
LARGEST = {"beam_width": 1000, "max_length": 100_000}  # more of a directory's own search would be an attack


def write(translator, directory, dtype=None):
    """Writes `config.json`, vocabularies, weights, figures and a card; see `model_directory.write_directory`.

    Args:
        translator: a `Translator`.
        directory: where to.
        dtype: of the stored weights, see `save_weights`; it stands in `config.json` too.
    """
    model = translator.model
    joint = translator.source_subwords == translator.target_subwords
    ignored = ("name", "trainable", "dtype")
    config = {
        "task": TASK,
        "model": {
            "class": type(model).__name__,
            "config": {key: value for key, value in model.get_config().items() if key not in ignored},
        },
        "search": translator.search.as_dict(),
        "max_source_tokens": translator.max_source_tokens,
        "subwords": ["joint.model"] if joint else ["source.model", "target.model"],
        "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
        "about": {**_about(model), **translator.about},
    }
    if dtype is not None:
        config["weights_dtype"] = dtype
    if translator.recipe is not None:
        config["recipe"] = translator.recipe
    sides = (
        [translator.source_subwords] if joint else [translator.source_subwords, translator.target_subwords]
    )
    files = {
        "config.json": config,
        **{name: side.model_bytes for name, side in zip(config["subwords"], sides, strict=True)},
        WEIGHTS: lambda path: save_weights(model, path, dtype),
        "metrics.json": translator.metrics,
        about.CARD: about.card(config["about"], translator.metrics),
    }
    model_directory.write_directory(directory, files)


def read(cls, name):
    """A translator of class `cls` from a directory or the name of a shipped one."""
    directory = model_directory.read_directory(shipped.find(name))
    config = directory.config
    if config.get("task") != TASK:
        raise PresetError(
            f"{directory.path}: expected a directory for {TASK}, got one for {config.get('task')!r}"
        )
    kinds = {kind: getattr(models, kind) for kind in TRANSLATION_MODELS.values()}
    try:
        model = make_model(directory, kinds, WEIGHTS)
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
    directory.load_weights(model)
    translator.metrics = directory.metrics
    translator.recipe = config.get("recipe")
    translator.about = about.kept(directory)
    return translator


def _about(model):
    """What the program knows of it; see `keraszoo.saving.about`."""
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

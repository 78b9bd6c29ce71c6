"""A tagger as a directory: what `save_to_preset` writes and `from_preset` reads.

    config.json  words.txt  model.weights.h5  metrics.json  README.md  manifest.json

The word vectors are among the weights. What the tag scheme permits follows from the tags, and is not stored.
"""

import keras

import keraszoo
from keraszoo import models
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.saving import about, model_directory
from keraszoo.saving.model_config import make_model
from keraszoo.saving.weights import save_weights
from keraszoo.shipping import shipped
from keraszoo.tasks.tagger_recipe import TAGGING_MODELS
from keraszoo.text.tagging_features import TaggingVocabulary

TASK = "tagging"
WEIGHTS = "model.weights.h5"
WORDS = "words.txt"
NOT_STORED = ("name", "trainable", "dtype", "allowed")


def write(tagger, directory, dtype=None):
    """Writes `config.json`, vocabulary, weights, figures and a card; see `model_directory.write_directory`.

    Args:
        tagger: an `EntityTagger`.
        directory: where to.
        dtype: of the stored weights, see `save_weights`; it stands in `config.json` too.
    """
    model, vocabulary = tagger.model, tagger.vocabulary
    config = {
        "task": TASK,
        "model": {
            "class": type(model).__name__,
            "config": {key: value for key, value in model.get_config().items() if key not in NOT_STORED},
            "constrained": model.chain is not None and model.chain.allowed is not None,
        },
        "vocabulary": {key: value for key, value in vocabulary.as_dict().items() if key != "words"},
        "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
        "about": {**_about(tagger), **tagger.about},
    }
    if dtype is not None:
        config["weights_dtype"] = dtype
    if tagger.recipe is not None:
        config["recipe"] = tagger.recipe
    files = {
        "config.json": config,
        WORDS: _one_a_line(vocabulary.words),
        WEIGHTS: lambda path: save_weights(model, path, dtype),
        "metrics.json": tagger.metrics,
        about.CARD: about.card(config["about"], tagger.metrics),
    }
    model_directory.write_directory(directory, files)


def read(cls, name):
    """A tagger of class `cls` from a directory or the name of a shipped one."""
    directory = model_directory.read_directory(shipped.find(name))
    config = directory.config
    if config.get("task") != TASK:
        raise PresetError(
            f"{directory.path}: expected a directory for {TASK}, got one for {config.get('task')!r}"
        )
    kinds = {kind: getattr(models, kind) for kind in TAGGING_MODELS.values()}
    try:
        words = directory.read_bytes(WORDS).decode("utf-8").split("\n")[:-1]
        vocabulary = TaggingVocabulary.from_dict({**config["vocabulary"], "words": words})
        extra = {"allowed": vocabulary.transitions() if config["model"]["constrained"] else None}
        tagger = cls(make_model(directory, kinds, WEIGHTS, extra=extra), vocabulary)
    except PresetError:
        raise
    except (KerasZooError, KeyError, TypeError, ValueError, AttributeError) as error:
        said = f"{directory.path}: config.json is not one of a tagger: {error}"
        raise PresetError(" ".join(said.split())) from error
    directory.load_weights(tagger.model)
    tagger.metrics = directory.metrics
    tagger.recipe = config.get("recipe")
    tagger.about = about.kept(directory)
    return tagger


def _one_a_line(words):
    for word in words:
        if "\n" in word:
            raise PresetError(f"{WORDS}: a word has a line end in it: {word!r}")
    return "".join(f"{word}\n" for word in words)


def _about(tagger):
    """What the program knows of it; see `keraszoo.saving.about`."""
    parameters = tagger.model.count_params()
    return {
        "title": f"{type(tagger.model).__name__}, {parameters:,} parameters",
        "pipeline_tag": "token-classification",
        "summary": f"It finds {', '.join(tagger.vocabulary.labels)}. "
        f"Vectors of {len(tagger.vocabulary.words):,} words.",
        "example": [
            "from keraszoo import EntityTagger",
            'EntityTagger.from_preset("this directory").tag("...")',
        ],
        "parameters": parameters,
    }

"""A question answerer as a directory: what `save_to_preset` writes and `from_preset` reads."""

import keras

import keraszoo
from keraszoo.errors import DataError, KerasZooError, PresetError
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.saving import about, model_directory
from keraszoo.saving.model_config import make_model
from keraszoo.saving.weights import save_weights
from keraszoo.shipping import shipped
from keraszoo.text.vocabulary import Vocabulary

TASK = "question answering"
WORDS = "words.txt"
WEIGHTS = "model.weights.h5"


def write(answerer, directory):
    """Writes `config.json`, words, weights, figures and a card; see `model_directory.write_directory`."""
    model = answerer.model
    ignored = ("name", "trainable", "dtype")
    config = {
        "task": TASK,
        "model": {
            "class": type(model).__name__,
            "config": {key: value for key, value in model.get_config().items() if key not in ignored},
        },
        "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
        "about": {**_about(answerer), **answerer.about},
    }
    files = {
        "config.json": config,
        WORDS: answerer.vocabulary.text(),
        WEIGHTS: lambda path: save_weights(model, path),
        "metrics.json": answerer.metrics,
        about.CARD: about.card(config["about"], answerer.metrics),
    }
    model_directory.write_directory(directory, files)


def read(cls, name):
    """An answerer of class `cls` from a directory or the name of a shipped one."""
    directory = model_directory.read_directory(shipped.find(name))
    config = directory.config
    if config.get("task") != TASK:
        raise PresetError(
            f"{directory.path}: expected a directory for {TASK}, got one for {config.get('task')!r}"
        )
    try:
        model = make_model(directory, {MemoryNetwork.__name__: MemoryNetwork}, WEIGHTS)
        vocabulary = Vocabulary.from_text(directory.read_bytes(WORDS).decode("utf-8"))
        answerer = cls(model, vocabulary)
    except PresetError:
        raise
    except DataError as error:
        raise PresetError(f"{directory.path}: {WORDS}: {error}") from error
    except KerasZooError as error:
        raise PresetError(f"{directory.path}: {error}") from error
    except ValueError as error:
        raise PresetError(f"{directory.path}: {WORDS} is not UTF-8: {error}") from error
    directory.load_weights(answerer.model)
    answerer.metrics = directory.metrics
    answerer.about = about.kept(directory)
    return answerer


def _about(answerer):
    """What the program knows of it; see `keraszoo.saving.about`."""
    model, parameters = answerer.model, answerer.model.count_params()
    words = len(answerer.vocabulary.words)
    return {
        "title": f"{type(model).__name__}, {model.hops} hops, {parameters:,} parameters",
        "pipeline_tag": "question-answering",
        "summary": f"It knows {words} words and remembers {model.memory_size} sentences.",
        "example": [
            "from keraszoo import QuestionAnswerer",
            'QuestionAnswerer.from_preset("this directory").answer(["...", "..."], "...?")',
        ],
        "parameters": parameters,
    }

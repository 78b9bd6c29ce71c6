"""A question answerer as a directory: what `save_to_preset` writes and `from_preset` reads."""

import keras

import keraszoo
from keraszoo import pretrained
from keraszoo.errors import DataError, KerasZooError, PresetError
from keraszoo.model_card import model_card
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.text.vocabulary import Vocabulary

TASK = "question answering"
WORDS = "words.txt"
WEIGHTS = "model.weights.h5"


def write(answerer, directory):
    """Writes `config.json`, words, weights, figures and a card; see `pretrained.write_directory`."""
    model = answerer.model
    ignored = ("name", "trainable", "dtype")
    config = {
        "task": TASK,
        "model": {
            "class": type(model).__name__,
            "config": {key: value for key, value in model.get_config().items() if key not in ignored},
        },
        "versions": {"keraszoo": keraszoo.__version__, "keras": keras.__version__},
    }
    files = {
        "config.json": config,
        WORDS: answerer.vocabulary.text(),
        WEIGHTS: lambda path: pretrained.save_weights(model, path),
        "metrics.json": answerer.metrics,
        "README.md": _card(answerer),
    }
    pretrained.write_directory(directory, files)


def read(cls, name):
    """An answerer of class `cls` from a directory or the name of a shipped one."""
    directory = pretrained.read_directory(pretrained.find(name))
    config = directory.config
    if config.get("task") != TASK:
        raise PresetError(
            f"{directory.path}: expected a directory for {TASK}, got one for {config.get('task')!r}"
        )
    try:
        kind = config["model"]["class"]
        if kind != MemoryNetwork.__name__:
            raise PresetError(f"{directory.path}: config.json: there is no model {kind!r}")
        vocabulary = Vocabulary.from_text(directory.read_bytes(WORDS).decode("utf-8"))
        answerer = cls(MemoryNetwork(**config["model"]["config"]), vocabulary)
    except PresetError:
        raise
    except DataError as error:
        raise PresetError(f"{directory.path}: {WORDS}: {error}") from error
    except KerasZooError as error:
        raise PresetError(f"{directory.path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        said = f"{directory.path}: config.json is not one of a question answerer: {error}"
        raise PresetError(" ".join(said.split())) from error
    directory.load_weights(answerer.model)
    answerer.metrics = directory.metrics
    return answerer


def _card(answerer):
    model = answerer.model
    words = len(answerer.vocabulary.words)
    return model_card(
        f"{type(model).__name__}, {model.hops} hops, {model.count_params():,} parameters",
        "question-answering",
        f"It knows {words} words and remembers {model.memory_size} sentences.",
        [
            "from keraszoo import QuestionAnswerer",
            'QuestionAnswerer.from_preset("this directory").answer(["...", "..."], "...?")',
        ],
        answerer.metrics,
    )

"""A question answerer as a directory: what `save_to_preset` writes and `from_preset` reads."""

from keraszoo.errors import DataError, KerasZooError, PresetError
from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.saving.model_config import make_model
from keraszoo.tasks import directory as task_directory
from keraszoo.text.vocabulary import Vocabulary

TASK = "question answering"
WORDS = "words.txt"


def write(answerer, directory):
    """Writes `config.json`, words, weights, figures and a card; see `model_directory.write_directory`."""
    files = {WORDS: answerer.vocabulary.text()}
    task_directory.write(TASK, answerer, directory, _about(answerer), {}, files)


def read(cls, name):
    """An answerer of class `cls` from a directory or the name of a shipped one."""
    directory = task_directory.find(name, TASK)
    try:
        model = make_model(directory, {MemoryNetwork.__name__: MemoryNetwork})
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
    return task_directory.filled(answerer, directory)


def _about(answerer):
    """What the program knows of it; see `keraszoo.saving.model_facts`."""
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

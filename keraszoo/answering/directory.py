"""The directory of a question answerer: its words, and how an answerer is made of them."""

from keraszoo.models.memory_network import MemoryNetwork
from keraszoo.saving.model_config import make_model
from keraszoo.text.vocabulary import Vocabulary

WORDS = "words.txt"


def contents(answerer):
    """Returns entries of `config.json`, files, facts and entries of the model's part: `Task._contents`."""
    model = answerer.model
    facts = {
        "title": f"{type(model).__name__}, {model.hops} hops, {model.count_params():,} parameters",
        "pipeline_tag": "question-answering",
        "summary": f"It knows {len(answerer.vocabulary.words)} words and remembers {model.memory_size} "
        "sentences.",
        "example": [
            "from keraszoo import QuestionAnswerer",
            'QuestionAnswerer.from_preset("this directory").answer(["...", "..."], "...?")',
        ],
    }
    return {}, {WORDS: answerer.vocabulary.text()}, facts, {}


def read(cls, directory):
    """Makes an answerer of class `cls` from a checked directory, without the weights."""
    model = make_model(directory, {MemoryNetwork.__name__: MemoryNetwork})
    return cls(model, Vocabulary.from_text(directory.read_text(WORDS)))

"""One row per task and per model; all lists of names come from here. Classes are named, not imported."""

import importlib
from collections import namedtuple

# name: as in `config.json` and in recipes. kind: the module and the class with `from_preset`; None for word
# vectors, which are no model. command: its words after `keraszoo`, and what follows the name of the model.
# recipe: the class of its recipe. prepare: the function that prepares the run of a recipe.
TaskRow = namedtuple("TaskRow", "name kind command recipe prepare", defaults=(None, None))
# task: its name. name: as in recipes. kind: the class in `keraszoo.models`. preset: of sizes, the default.
ModelRow = namedtuple("ModelRow", "task name kind preset", defaults=(None,))

_TASKS = (
    TaskRow(
        "translation",
        "keraszoo.translation.translator:Translator",
        ("translate", "TEXT_FILE"),
        "keraszoo.translation.recipe:Recipe",
        "keraszoo.translation.run:prepare",
    ),
    TaskRow(
        "tagging",
        "keraszoo.tagging.entity_tagger:EntityTagger",
        ("tag", "TEXT_FILE"),
        "keraszoo.tagging.recipe:TaggerRecipe",
        "keraszoo.tagging.run:prepare",
    ),
    TaskRow(
        "question answering",
        "keraszoo.answering.question_answerer:QuestionAnswerer",
        ("ask", "QUESTION", "STORY_FILE"),
    ),
    TaskRow("word vectors", None, ("vectors neighbours", "WORD")),
)
TASKS = {row.name: row for row in _TASKS}
WITH_RECIPES = tuple(name for name, row in TASKS.items() if row.recipe)
MODELS = (
    ModelRow("translation", "rnnencdec", "RNNEncDec", "small"),
    ModelRow("translation", "deeplstm", "DeepLSTM", "small"),
    ModelRow("translation", "simplified", "SimplifiedRNNSearch", "small"),
    ModelRow("translation", "rnnsearch", "RNNSearch", "small"),
    ModelRow("translation", "luong", "LuongNMT", "small"),
    ModelRow("translation", "gnmt", "GNMT", "small"),
    ModelRow("translation", "convs2s", "ConvS2S", "small"),
    ModelRow("translation", "transformer", "Transformer", "small"),
    ModelRow("tagging", "attention", "AttentionTagger", "base"),
    ModelRow("tagging", "recurrent", "RecurrentTagger", "strong"),
    ModelRow("tagging", "transformer", "TransformerTagger", "small"),
    ModelRow("tagging", "pretrained", "PretrainedTagger", "base"),
    ModelRow("question answering", "memory", "MemoryNetwork"),
)


def load(place):
    """Imports what a place such as `"keraszoo.tagging.recipe:TaggerRecipe"` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def models_of(task):
    """The rows of the models of a task, a dict by their names in recipes."""
    return {row.name: row for row in MODELS if row.task == task}


def model_classes(task):
    """The classes of the models of a task, a dict by their names in recipes. Imports Keras."""
    return {name: load(f"keraszoo.models:{row.kind}") for name, row in models_of(task).items()}


# Arguments of a constructor that follow from the vocabulary and the tags, not from a recipe's overrides.
DERIVED = {
    *("source_vocabulary_size", "target_vocabulary_size", "source_pad_id", "target_pad_id"),
    *("num_tags", "vocabulary_size", "character_vocabulary_size", "casing_size", "allowed", "constrain"),
    *("backbone", "start_id", "end_id"),
}


def model_arguments(kind):
    """The names of the constructor arguments that `overrides` may set, for a class of a model."""
    return sorted(set(kind.constructor_parameters()) - DERIVED) + ["dtype"]

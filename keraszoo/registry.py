"""One row per task and per model; all lists of names come from here. Classes are named, not imported."""

import importlib
from collections import namedtuple

# name: as in `config.json` and in recipes. kind: the module and the class with `from_preset`; None for word
# vectors, which are no model. command: its words after `keraszoo`, and what follows the name of the model.
# recipe: the class of its recipe. prepare: the function that prepares the run of a recipe.
Task = namedtuple("Task", "name kind command recipe prepare", defaults=(None, None))
# task: its name. name: as in recipes. kind: the class in `keraszoo.models`. preset: of sizes, the default.
Model = namedtuple("Model", "task name kind preset", defaults=(None,))

_TASKS = (
    Task(
        "translation",
        "keraszoo.translation.translator:Translator",
        ("translate", "TEXT_FILE"),
        "keraszoo.translation.recipe:Recipe",
        "keraszoo.translation.run:prepare",
    ),
    Task(
        "tagging",
        "keraszoo.tagging.entity_tagger:EntityTagger",
        ("tag", "TEXT_FILE"),
        "keraszoo.tagging.recipe:TaggerRecipe",
        "keraszoo.tagging.run:prepare",
    ),
    Task(
        "question answering",
        "keraszoo.answering.question_answerer:QuestionAnswerer",
        ("ask", "QUESTION", "STORY_FILE"),
    ),
    Task("word vectors", None, ("vectors neighbours", "WORD")),
)
TASKS = {row.name: row for row in _TASKS}
WITH_RECIPES = tuple(name for name, row in TASKS.items() if row.recipe)
MODELS = (
    Model("translation", "rnnencdec", "RNNEncDec", "small"),
    Model("translation", "deeplstm", "DeepLSTM", "small"),
    Model("translation", "simplified", "SimplifiedRNNSearch", "small"),
    Model("translation", "rnnsearch", "RNNSearch", "small"),
    Model("translation", "luong", "LuongNMT", "small"),
    Model("translation", "transformer", "Transformer", "small"),
    Model("tagging", "attention", "AttentionTagger", "base"),
    Model("tagging", "recurrent", "RecurrentTagger", "strong"),
    Model("tagging", "transformer", "TransformerTagger", "small"),
    Model("question answering", "memory", "MemoryNetwork"),
)


def resolve(place):
    """Imports what a place such as `"keraszoo.tagging.recipe:TaggerRecipe"` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def models_of(task):
    """The rows of the models of a task, a dict by their names in recipes."""
    return {row.name: row for row in MODELS if row.task == task}


def model_classes(task):
    """The classes of the models of a task, a dict by their names in recipes. Imports Keras."""
    return {name: resolve(f"keraszoo.models:{row.kind}") for name, row in models_of(task).items()}


# Arguments of a constructor that follow from the vocabulary and the tags, not from a recipe's overrides.
DERIVED = {
    *("source_vocabulary_size", "target_vocabulary_size", "source_pad_id", "target_pad_id"),
    *("num_tags", "vocabulary_size", "character_vocabulary_size", "casing_size", "allowed", "constrain"),
}


def model_arguments(kind):
    """The names of the constructor arguments that `overrides` may set, for a class of a model."""
    return sorted(set(kind.constructor_parameters()) - DERIVED) + ["dtype"]

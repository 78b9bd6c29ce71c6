"""Names of the models in recipes, as text: a recipe is checked without importing Keras."""

# For each task: the name in a recipe, the class in `keraszoo.models` and the default preset.
MODELS = {
    "translation": {
        "rnnencdec": ("RNNEncDec", "small"),
        "deeplstm": ("DeepLSTM", "small"),
        "simplified": ("SimplifiedRNNSearch", "small"),
        "rnnsearch": ("RNNSearch", "small"),
        "luong": ("LuongNMT", "small"),
        "transformer": ("Transformer", "small"),
    },
    "tagging": {
        "attention": ("AttentionTagger", "base"),
        "recurrent": ("RecurrentTagger", "strong"),
        "transformer": ("TransformerTagger", "small"),
    },
}
# Arguments of a constructor that follow from the vocabulary and the tags, not from a recipe's overrides.
DERIVED = {
    *("source_vocabulary_size", "target_vocabulary_size", "source_pad_id", "target_pad_id"),
    *("num_tags", "vocabulary_size", "character_vocabulary_size", "casing_size", "allowed", "constrain"),
}


def model_classes(task):
    """Returns the classes of the models of a task, a dict by their names in recipes."""
    from keraszoo import models

    return {name: getattr(models, kind) for name, (kind, _) in MODELS[task].items()}


def model_arguments(kind):
    """Returns the names of the constructor arguments that `overrides` may set, for a class of a model."""
    return sorted(set(kind.constructor_parameters()) - DERIVED) + ["dtype"]

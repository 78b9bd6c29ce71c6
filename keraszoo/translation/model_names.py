"""The translation models' names and presets, as text alone: a recipe is checked without Keras."""

# The name in a recipe, and the class in `keraszoo.models`; from the oldest paper to the newest.
TRANSLATION_MODELS = {
    "rnnencdec": "RNNEncDec",
    "deeplstm": "DeepLSTM",
    "simplified": "SimplifiedRNNSearch",
    "rnnsearch": "RNNSearch",
    "luong": "LuongNMT",
    "transformer": "Transformer",
}

# The names in their `presets`, the first the one that a recipe takes if it names none.
TRANSLATION_PRESETS = {
    "rnnencdec": ["small", "tiny", "paper"],
    "deeplstm": ["small", "tiny", "paper"],
    "simplified": ["small", "tiny"],
    "rnnsearch": ["small", "tiny", "paper"],
    "luong": ["small", "tiny", "paper"],
    "transformer": ["small", "tiny", "base", "big"],
}

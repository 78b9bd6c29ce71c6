"""The one list of the translation models' names, of text alone: a recipe is checked without Keras."""

# The name in a recipe, and the class in `keraszoo.models`; from the oldest paper to the newest.
TRANSLATION_MODELS = {
    "rnnencdec": "RNNEncDec",
    "deeplstm": "DeepLSTM",
    "simplified": "SimplifiedRNNSearch",
    "rnnsearch": "RNNSearch",
    "luong": "LuongNMT",
    "transformer": "Transformer",
}

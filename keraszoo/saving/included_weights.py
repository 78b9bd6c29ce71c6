"""The weights of four included models, which are stored in HDF5 under the names of other layers.

An HDF5 file names an array by the attributes that lead to its layer and by its number in the layer, such as
`encoder_layers/transformer_encoder_layer_2/feed_forward/vars/1`, here the weight
`encoder_2/feed_forward/W_1/bias`. Only the included files are read, which are known by their SHA-256.
"""

import re

FILE = "model.weights.h5"
DIGESTS = {
    "8c4b61cde0e02d432a017f8ae378000f40804027662f2cae113b54a0a83d620f",  # biomedical_entities
    "23007a4012cc9db4e0b02f43b94762d6cceb332a6964a072b61dba827fdce46d",  # english_entities
    "8d239d6bc3d86035ae9ceaa155e361f82a07d2312d58c939b3c0d928444fddcb",  # tatoeba_en_de_transformer
    "597923d938639fc02d595ec059f46c93bc5b9fbbff57ad12ba7d2a0256bccab3",  # tatoeba_en_fr_transformer
}
CELL = r"recurrent_cell(?:_(\d+))?"
HEADS = "W_q/kernel W_q/bias W_k/kernel W_k/bias W_v/kernel W_v/bias W_o/kernel W_o/bias"
LSTM = "W/kernel U/kernel W/bias"
NORM = "gamma beta"
TRANSFORMER = r"(\w+)_layers/transformer_\w+_layer(?:_(\d+))?"
ENCODER = r"encoder_layers/transformer_encoder_layer(?:_(\d+))?"
DECODER = r"decoder_layers/transformer_decoder_layer(?:_(\d+))?"
BOTH = rf"(left_to_right|right_to_left)/recurrent_stack/cells/{CELL}"
WAYS = {"left_to_right": "forward_0", "right_to_left": "backward_0"}
# The place of a layer in an old file, its place now, and the names of its weights in the old order. A row
# holds where the layer has as many weights.
TABLE = [
    (r"layers/(?:tied_)?embedding", "target_embedding", "embeddings"),
    (rf"{TRANSFORMER}/(\w+_attention)", "{}_{}/{}", HEADS),
    (rf"{TRANSFORMER}/feed_forward", "{}_{}/feed_forward", "W_1/kernel W_1/bias W_2/kernel W_2/bias"),
    (rf"{TRANSFORMER}/norms/layer_norm", "{}_{}/self_attention_norm", NORM),
    (rf"{ENCODER}/norms/layer_norm_1", "encoder_{}/feed_forward_norm", NORM),
    (rf"{DECODER}/norms/layer_norm_1", "decoder_{}/cross_attention_norm", NORM),
    (rf"{TRANSFORMER}/norms/layer_norm_2", "{}_{}/feed_forward_norm", NORM),
    (r"(\w+coder_norm)", "{}", NORM),
    # taggers
    (r"layers/embedding", "words/vectors", "embeddings embeddings_scale"),
    (r"character_encoder", "words/characters", "E/embeddings W/kernel W/bias"),
    (r"casing", "words/casing", "embeddings"),
    (r"layers/bag_of_subwords", "words/subwords", "E/embeddings W/kernel W/bias"),
    (rf"layers/bidirectional_encoder/{BOTH}", "recurrent/{}/layer_{}", LSTM),
    (r"layers/layer_norm", "norm", NORM),
    (r"attention", "attention", HEADS),
    (r"layers/dense", "head/scores", "kernel bias"),
    (r"chain", "crf", "transitions start end"),
]


def read(path):
    """Returns the weights of a file: dict of name -> NumPy array."""
    import h5py

    layers = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            place, _, number = name.rpartition("vars/")
            layers.setdefault(place.rstrip("/"), {})[int(number)] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return {name: array for place, arrays in layers.items() for name, array in _named(place, arrays)}


def _named(place, arrays):
    """Pairs of name and array of one layer, by the first row that fits."""
    for pattern, now, names in TABLE:
        match, names = re.fullmatch(pattern, place), names.split()
        if match and len(names) == len(arrays):
            now = now.format(*(WAYS.get(group, group or "0") for group in match.groups()))
            return [(f"{now}/{name}".lstrip("/"), arrays[i]) for i, name in enumerate(names)]
    raise KeyError(f"no row for the {len(arrays)} weights of {place!r}")

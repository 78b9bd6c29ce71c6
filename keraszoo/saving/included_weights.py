"""The weights of the included models, which were stored in HDF5 under the names of other layers.

An HDF5 file names an array by the attributes that lead to its layer and by its number in the layer, such as
`encoder_layers/transformer_encoder_layer_2/feed_forward/vars/1`, here the weight
`encoder_2/feed_forward/W_1/bias`. Only the included files are read, which are known by their SHA-256.
"""

import re

FILE = "model.weights.h5"
DIGESTS = {
    "edb46e27355d2ba6309789d75ff8ca6030269466be0142dbc899ce0ab35e51ea",  # babi_memory_network
    "8c4b61cde0e02d432a017f8ae378000f40804027662f2cae113b54a0a83d620f",  # biomedical_entities
    "23007a4012cc9db4e0b02f43b94762d6cceb332a6964a072b61dba827fdce46d",  # english_entities
    "f702f89b55c17326457b8464290b887209ad2ecfe78f4ff0207328539e2392e4",  # tatoeba_de_en_transformer
    "3746c3cbda74c8a1907e9eda07f259fb36e048e37a0bcdba087a65f8ba827768",  # tatoeba_en_de_luong
    "78762d07b393cf5995ca78e2d1663e7b8c76108b63667ec5b6b5a8192f51ec41",  # tatoeba_en_de_rnnsearch
    "e13e7462dc40954f84c332d216b1ee93be2c7320e488c40603bedc71a4979445",  # tatoeba_en_de_student
    "8d239d6bc3d86035ae9ceaa155e361f82a07d2312d58c939b3c0d928444fddcb",  # tatoeba_en_de_transformer
    "20b1317a3b6ffd2525188f44bbb60b766c3f418fbe1eebea9f934247d0768018",  # tatoeba_en_fr_rnnsearch
    "597923d938639fc02d595ec059f46c93bc5b9fbbff57ad12ba7d2a0256bccab3",  # tatoeba_en_fr_transformer
    "f779857131abeacf700da2b6062de5b82240e6088cdd37822f9519da80287d61",  # tatoeba_fr_en_transformer
}
HEADS = "W_q/kernel W_q/bias W_k/kernel W_k/bias W_v/kernel W_v/bias W_o/kernel W_o/bias"
NORM = "gamma beta"
# The place of a layer in an old file, that of the layer now, and the names of its weights in order.
TABLE = [
    (r"layers/tied_embedding", "target_embedding", "embeddings"),
    (r"(\w+)_layers/transformer_\w+_layer(?:_(\d+))?/(\w+_attention)", r"\1_\2/\3", HEADS),
    (
        r"(\w+)_layers/transformer_\w+_layer(?:_(\d+))?/feed_forward",
        r"\1_\2/feed_forward",
        "W_1/kernel W_1/bias W_2/kernel W_2/bias",
    ),
    (r"(\w+)_layers/transformer_\w+_layer(?:_(\d+))?/norms/layer_norm", r"\1_\2/self_attention_norm", NORM),
    (r"(\w+coder_norm)", r"\1", NORM),
]


def read(path):
    """Returns the weights of a file: dict of name -> NumPy array."""
    import h5py

    arrays = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            arrays[_name(name)] = item[()]

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return arrays


def _name(old):
    place, _, number = old.rpartition("/vars/")
    for pattern, replacement, names in TABLE:
        match = re.fullmatch(pattern, place)
        if match:
            groups = ["0" if group is None else group for group in match.groups()]
            for i, group in enumerate(groups, start=1):
                replacement = replacement.replace(f"\\{i}", group)
            return f"{replacement}/{names.split()[int(number)]}".lstrip("/")
    raise KeyError(f"no name for {old}")

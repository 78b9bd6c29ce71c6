"""The models that are tested, sentences that they read and what they compute of them."""

import keras
import numpy as np
from keras import ops

from keraszoo import models

to_numpy = ops.convert_to_numpy
V, PAD, START, END = 13, 0, 1, 3
START_OF_WORDS = 4
CHARACTERS, CASINGS, K, WIDTH = 11, 5, 5, 6  # of taggers
# O, B-X, I-X, B-Y, I-Y
FOLLOWS = [[True, True, i in (1, 2), True, i in (3, 4)] for i in range(K)]
IOB2 = FOLLOWS, [True, True, False, True, False], [True] * K

RNN = {"embedding_dim": 12, "units": 16}
TRANSFORMER = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32, "dropout": 0.0}
TIED = {"scale_embeddings": False, "share_embeddings": True, "tie_output": True}
TRANSLATION = {  # a class, before the comma, and its arguments
    "ConvS2S": dict(RNN, num_layers=2, dropout=0.0),
    "ConvS2S, wider kernels, tied": dict(RNN, num_layers=1, num_decoder_layers=2, kernel_size=5, dropout=0.0)
    | {"max_positions": 20, "share_embeddings": True, "tie_output": True},
    "DeepLSTM": dict(RNN, num_layers=2),
    "DeepLSTM, GRU, not reversed, tied": dict(TIED, embedding_dim=20, units=20, num_layers=1, cell="gru")
    | {"reverse_source": False},
    "DeepLSTM, fast-forward connections": dict(RNN, num_layers=3, connections="fast_forward"),
    "GNMT": dict(RNN, num_layers=3),
    "GNMT, context of this step, GRU, tied": dict(TIED, embedding_dim=24, units=24, num_layers=2, cell="gru")
    | {"context": "current", "connections": "fast_forward", "attention_units": 5},
    "GNMT, experts": dict(RNN, num_layers=2, num_experts=4, intermediate_dim=12),
    "LuongNMT": dict(RNN, num_layers=2),
    "LuongNMT, local-p, no input feeding": dict(RNN, num_layers=2, score="dot", window="local-p")
    | {"half_width": 3, "attention_units": 7, "input_feeding": False, "reverse_source": True},
    "LuongNMT, local-m, GRU, tied": dict(TIED, embedding_dim=20, units=24, num_layers=1, half_width=2.5)
    | {"cell": "gru_reset_after", "score": "concat", "window": "monotonic"},
    "RNNEncDec": RNN,
    "RNNEncDec, reset after, tied": dict(RNN, **TIED, cell="gru_reset_after"),
    "RNNSearch": RNN,
    "RNNSearch, LSTM, tied": dict(TIED, embedding_dim=12, units=14, cell="lstm")
    | {"encoder_layers": 2, "attention_units": 5},
    "SimplifiedRNNSearch": dict(RNN, attention_units=7, scale_embeddings=False),
    "Transformer": TRANSFORMER,
    "Transformer, rotary, pre-norm, two embeddings": dict(TRANSFORMER, d_model=12, num_decoder_layers=2)
    | {
        "num_heads": 3,
        "pre_norm": True,
        "use_bias": False,
        "tie_embeddings": "target",
        "positions": "rotary",
    },
    "Transformer, learned positions": dict(TRANSFORMER, positions="learned", max_positions=20),
    "Transformer, relative positions": dict(TRANSFORMER, num_layers=2, positions="relative", max_distance=2),
    "Transformer, experts": dict(TRANSFORMER, pre_norm=True, num_experts=5, experts_per_token=2),
}

SPELLED = {
    "character_vocabulary_size": CHARACTERS,
    "character_dim": 5,
    "character_units": 7,
    "casing_size": CASINGS,
    "casing_dim": 3,
}
ALL_FEATURES = {"characters": "cnn", **SPELLED}
SMALL = {"d_model": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}
TAGGERS = {
    "AttentionTagger": {"units": 24},
    "AttentionTagger, both ways, concat, CRF": dict(ALL_FEATURES, units=16, attention_units=7, cell="lstm")
    | {"hidden_units": 20, "bidirectional": True, "context": "concat", "crf": True, "allowed": IOB2},
    "AttentionTagger, scaled, scheme": dict(units=24, context="scaled", allowed=IOB2, train_vectors=True),
    "RecurrentTagger": dict(ALL_FEATURES, units=16, crf=True),
    "RecurrentTagger, one way, self-attention": dict(SPELLED, units=16, num_layers=2, cell="gru")
    | {"bidirectional": False, "attention_heads": 2, "characters": "lstm"},
    "TransformerTagger": dict(SMALL, crf=True),
    "TransformerTagger, relative, post-norm": dict(SMALL, **ALL_FEATURES, pre_norm=False)
    | {"positions": "relative", "max_distance": 3},
}
MEMORY = {
    "MemoryNetwork": {"width": 7, "memory_size": 5},
    "MemoryNetwork, layer-wise": dict(width=7, hops=2, memory_size=5, tying="layer_wise")
    | {"encoding": "bag", "noise": 0.2},
}
MODELS = TRANSLATION | TAGGERS | MEMORY


def class_of(name):
    return getattr(models, name.partition(",")[0])


CLASSES = [class_of(name) for name in MODELS if "," not in name]


def make(name, **changes):
    options = {**MODELS[name], **changes}
    if name not in TAGGERS:
        model = class_of(name)(V, **options)
        model.build()
        return model
    model = class_of(name)(K, V, WIDTH, **{"dropout": 0.0, **options})
    model.build()
    model.words.set_vectors(np.random.default_rng(7).normal(size=(V, WIDTH)))
    return model


def as_floats(x):
    return to_numpy(ops.cast(x, "float32"))


def eight_sentences():
    """Eight short pairs in which the target is the source backwards, so that order and length matter."""
    rng = np.random.default_rng(0)
    source, target_in, target_out = (np.zeros((8, 6), "int32") for _ in range(3))
    for b in range(8):
        words = rng.integers(START_OF_WORDS, V, 2 + b % 4)
        n = len(words)
        source[b, : n + 1] = [*words, END]
        target_in[b, : n + 1] = [START, *words[::-1]]
        target_out[b, : n + 1] = [*words[::-1], END]
    return source, target_in, target_out, (target_out != PAD).astype("float32")


def eight_tagged_sentences():
    """Features and tags of eight sentences of 1 to 6 words, in which a tag depends on the word before it."""
    rng, lengths = np.random.default_rng(0), np.array([6, 5, 4, 3, 2, 1, 6, 5])
    words = np.where(np.arange(6) < lengths[:, None], rng.integers(2, V, (8, 6)), 0).astype("int32")
    before = np.pad(words, ((0, 0), (1, 0)))[:, :-1]
    kind = np.where(words % 3 == 0, 1, np.where(words % 3 == 1, 3, 0))  # O, B-X or B-Y
    inside = (kind > 0) & (before % 3 == words % 3) & (before > 0)
    tags = np.where(words > 0, kind + inside, 0)
    characters = np.where(np.arange(4) < (1 + words % 4)[..., None], 1 + words[..., None] % 7, 0)
    characters = np.where(words[..., None] > 0, characters, 0)
    casing = np.where(words > 0, 1 + words % (CASINGS - 1), 0)
    weight = (words > 0) / (words > 0).sum()
    return {"words": words, "characters": characters, "casing": casing}, tags, weight.astype("float32")


FEATURES, TAGS, WEIGHT = eight_tagged_sentences()
MASK = FEATURES["words"] > 0


def cut(rows, length=None):
    return {name: part[rows, :length] for name, part in FEATURES.items()}


STORY = np.array([[[1, 2, 3], [4, 5, 0], [6, 2, 1]], [[7, 8, 9], [3, 0, 0], [0, 0, 0]]])
QUESTION = np.array([[10, 11, 1], [10, 12, 0]])


def training_batch(name):
    """Inputs, targets and weights for a model's `fit`."""
    if name in TAGGERS:
        return FEATURES, TAGS, WEIGHT
    if name in MEMORY:
        return (STORY, QUESTION), np.array([5, 6]), np.ones(2)
    source, target_in, target_out, weight = eight_sentences()
    return (source, target_in), target_out, weight


def trains(name, model, optimizer):
    """Compiles a model with the loss of its task."""
    loss = None if name in TAGGERS else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, run_eagerly=True)


def outputs(model, inputs):
    """What a model computes, as arrays: logits, or scores, tags, probabilities and weights of a tagger."""
    tagged = model.tag(inputs) if isinstance(inputs, dict) else ()
    return [as_floats(part) for part in (model(inputs), *tagged) if part is not None]


def halved(name, random_model, **changes):
    model = make(name, **changes)
    model.set_weights([0.5 * to_numpy(w) for w in random_model.weights])
    return model

"""A small Marian model in the layout of the Hub, with random weights."""

import json

import numpy as np
import pytest
import safetensors.numpy
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto

D, HEADS, HIDDEN, LAYERS = 8, 2, 12, 2
WORDS = {
    "source": "one two three four five six seven eight nine ten",
    "target": "eins zwei drei vier fünf sechs sieben acht neun zehn",
}


def random_weights(size):
    """Weights by their names, as PyTorch stores them."""
    draw = np.random.default_rng(3)
    shapes = {"model.shared.weight": (size, D), "final_logits_bias": (1, size)}
    for side, kinds in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(LAYERS):
            start = f"model.{side}.layers.{layer}"
            for kind in kinds:
                for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes[f"{start}.{kind}.{name}.weight"] = (D, D)
                    shapes[f"{start}.{kind}.{name}.bias"] = (D,)
            for name, shape in (("fc1", (HIDDEN, D)), ("fc2", (D, HIDDEN))):
                shapes[f"{start}.{name}.weight"], shapes[f"{start}.{name}.bias"] = shape, shape[:1]
            for kind in (*kinds, "final"):
                for name in ("weight", "bias"):
                    shapes[f"{start}.{kind}_layer_norm.{name}"] = (D,)
    return {name: draw.normal(0, 0.4, shape).astype("float32") for name, shape in shapes.items()}


def unigram_model(words):
    """A sentencepiece model of some words and their letters, with ids that Marian does not use."""
    model = ModelProto()
    for piece, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3)):
        model.pieces.add(piece=piece, score=0, type=kind)
    scores = {"\u2581": -4, **dict.fromkeys(sorted({*"".join(words)}), -5)}
    for piece, score in {**scores, **{f"\u2581{word}": -2 for word in words}}.items():
        model.pieces.add(piece=piece, score=score, type=1)
    rules = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    model.normalizer_spec.ParseFromString(rules.serialized_normalizer_spec())
    model.trainer_spec.model_type = 1
    return model


@pytest.fixture(scope="session")
def files():
    """The files of a published model, a dict of name -> content; weights and JSON are dicts."""
    sides = {side: unigram_model(words.split()) for side, words in WORDS.items()}
    pieces = [one.piece for side in sides.values() for one in side.pieces if one.type == 1]
    pieces = [piece for piece in dict.fromkeys(pieces) if piece != "v"]  # it has no id
    names = ["</s>", "<unk>", *pieces[:9], ">>deu<<", *pieces[9:], ">>fra<<", "<pad>"]
    pad = len(names) - 1
    stack = {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": HIDDEN}
    config = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in stack.items()}
    return {
        "config.json": {
            "model_type": "marian", "d_model": D, "vocab_size": len(names), "activation_function": "swish",
            "max_position_embeddings": 32, "scale_embedding": True, "dropout": 0.1, "pad_token_id": pad,
            "decoder_start_token_id": pad, "eos_token_id": 0, **config,
        },
        "generation_config.json": {"num_beams": 2, "max_length": 12},
        "tokenizer_config.json": {"source_lang": "en", "target_lang": "de"},
        "vocab.json": {name: i for i, name in enumerate(names)},
        "source.spm": sides["source"].SerializeToString(),
        "target.spm": sides["target"].SerializeToString(),
        "model.safetensors": random_weights(len(names)),
        "README.md": b"---\nlicense: cc-by-4.0\nlanguage:\n- en\n- no\n---\n# A model\n",
    }  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """Writes files into a folder, of which `None` is left out; returns its path."""

    def write(files, name="published"):
        folder = tmp_path / name
        folder.mkdir()
        for name, content in files.items():
            if name.endswith(".safetensors") and isinstance(content, dict):
                content = safetensors.numpy.save(content)
            if isinstance(content, dict):
                content = json.dumps(content).encode()
            if content is not None:
                (folder / name).write_bytes(content)
        return folder

    return write

"""Marian models become translators with the same numbers, or one line says why not."""

import math
import os

import numpy as np
import pytest
from keras import ops

from keraszoo import Translator
from keraszoo.errors import KerasZooError, PresetError

HEADS = 2


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference(weights, source, target):
    """Logits of one pair of sentences by the rules of Marian, without any order of ours."""

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attend(name, x, memory, causal=False):
        q, k, v = (linear(f"{name}.{c}_proj", y) for c, y in zip("qkv", (x, memory, memory), strict=True))
        size, contexts = x.shape[1] // HEADS, []
        for h in range(HEADS):
            part = slice(h * size, h * size + size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            if causal:
                scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
            contexts.append(softmax(scores) @ v[:, part])
        return linear(f"{name}.out_proj", np.concatenate(contexts, axis=1))

    def embed(ids):
        x = weights["model.shared.weight"][ids]
        half = x.shape[1] // 2
        angles = np.arange(len(ids))[:, None] / 10000 ** (np.arange(half) / half)
        return x * math.sqrt(x.shape[1]) + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    def layers(side, x, memory=None):
        for layer in range(2):
            start = f"model.{side}.layers.{layer}"
            own = attend(f"{start}.self_attn", x, x, causal=memory is not None)
            x = norm(f"{start}.self_attn_layer_norm", x + own)
            if memory is not None:
                other = attend(f"{start}.encoder_attn", x, memory)
                x = norm(f"{start}.encoder_attn_layer_norm", x + other)
            hidden = linear(f"{start}.fc1", x)
            x = norm(f"{start}.final_layer_norm", x + linear(f"{start}.fc2", hidden / (1 + np.exp(-hidden))))
        return x

    x = layers("decoder", embed(target), layers("encoder", embed(source)))
    return x @ weights["model.shared.weight"].T + weights["final_logits_bias"]


def test_logits_equal_the_rules_of_marian(files, write):
    translator = Translator.from_preset(write(files))
    pad = translator.target_subwords.pad_id
    sources, targets = np.array([[5, 9, 7, 0], [6, 8, 0, pad]]), np.array([[pad, 4, 6], [pad, 9, 3]])
    logits = ops.convert_to_numpy(translator.model((sources, targets)))
    for i, length in enumerate((4, 3)):
        theirs = reference(files["model.safetensors"], sources[i, :length], targets[i])
        np.testing.assert_allclose(logits[i], theirs, atol=1e-4)


def test_ids_are_those_of_the_vocabulary(files, write):
    subwords = Translator.from_preset(write(files)).source_subwords
    ids = files["vocab.json"]
    assert subwords.encode([">>fra<< one"]) == [[ids[">>fra<<"], ids["▁one"]]]
    assert subwords.encode(["one v e"])[0][1:] == [ids["▁"], ids["<unk>"], ids["▁"], ids["e"]]
    assert subwords.unknown("v") == ["v"]
    assert subwords.start_id == subwords.pad_id == ids["<pad>"]
    assert subwords.decode([[ids["▁zwei"], ids["<unk>"], 0]]) == ["zwei"]


@pytest.mark.slow
def test_a_converted_directory_is_the_same_and_its_card_names_the_source(files, write, run, tmp_path):
    folder, output = write(files), tmp_path / "converted"
    assert run("fetch", folder, "--output", output) == (0, f"{output}\n", "")
    ours, theirs = Translator.from_preset(output), Translator.from_preset(folder)
    np.testing.assert_equal(ours.model.get_weights(), theirs.model.get_weights())
    assert (ours.source_subwords, ours.target_subwords) == (theirs.source_subwords, theirs.target_subwords)
    assert (ours.search.beam_width, ours.search.max_length, ours.max_source_tokens) == (2, 12, 31)
    card = (output / "README.md").read_text()
    assert "license: cc-by-4.0" in card and "'no'" in card and "Converted from published." in card
    code, _, said = run("translate", output, "--target-language", "ita", stdin=b"one\n")
    assert (code, said.count("\n")) == (2, 1) and "there is no 'ita', expected one of deu, fra" in said
    with pytest.raises(KerasZooError, match=r"text 2 has the target language 'dea', did you mean deu\?"):
        theirs.translate([">>deu<< one", ">>dea<< one"])


def test_separate_vocabularies_and_embeddings(files, write):
    ids = {**files["vocab.json"]}
    swapped = {**ids, "▁drei": ids["▁eins"], "▁eins": ids["▁drei"]}
    weights = {**files["model.safetensors"]}
    weights["model.encoder.embed_tokens.weight"] = weights.pop("model.shared.weight")
    weights["model.decoder.embed_tokens.weight"] = weights["model.encoder.embed_tokens.weight"] + 1
    weights["lm_head.weight"] = weights["model.decoder.embed_tokens.weight"]  # a copy
    weights["model.encoder.embed_positions.weight"] = np.zeros((32, 8), "float32")
    changed = {
        "config.json": {**files["config.json"], "share_encoder_decoder_embeddings": False},
        "tokenizer_config.json": {"separate_vocabs": True},
        "target_vocab.json": swapped,
        "model.safetensors": weights,
    }
    translator = Translator.from_preset(write({**files, **changed}))
    assert translator.source_subwords.pieces([ids["▁eins"]]) == ["▁eins"]
    assert translator.target_subwords.pieces([ids["▁eins"]]) == ["▁drei"]
    model = translator.model
    first = [one.embeddings.numpy()[:, 0] for one in (model.source_embedding, model.target_embedding)]
    np.testing.assert_allclose(first[1], first[0] + 1, atol=1e-6)


def with_weight(files, name, value):
    weights = {**files["model.safetensors"], name: value}
    return {"model.safetensors": {name: value for name, value in weights.items() if value is not None}}


BAD = {
    "is a pickle.*torch.load": lambda f: {"model.safetensors": None, "pytorch_model.bin": b"\x80"},
    "has no model.safetensors": lambda f: {"model.safetensors": None},
    "expected marian, got 'bert'": lambda f: {"config.json": {"model_type": "bert"}},
    "vocab.json: not valid JSON": lambda f: {"vocab.json": b"{"},
    "has 2 pieces, but config.json has a vocabulary of": lambda f: {"vocab.json": {"a": 0, "b": 1}},
    "expected pieces with the ids 0, 1, 2": lambda f: {"vocab.json": {"a": 0, "b": 2}},
    "has no piece </s>": lambda f: {
        "vocab.json": {("end" if name == "</s>" else name): i for name, i in f["vocab.json"].items()}
    },
    "source.spm: not a sentencepiece model": lambda f: {"source.spm": b"\xff\xff"},
    "source.spm: expected a unigram model": lambda f: {"source.spm": b""},
    "not a readable weight file": lambda f: {"model.safetensors": b"{}"},
    "normalize_before: expected False, got True": lambda f: changed(f, normalize_before=True),
    "expected one ffn_dim of both stacks, got 12 and 13": lambda f: changed(f, decoder_ffn_dim=13),
    "expected a decoder_start_token_id that is pad_token_id": lambda f: changed(f, decoder_start_token_id=0),
    "are not those of the vocabulary": lambda f: changed(f, pad_token_id=5, decoder_start_token_id=5),
    "encoder_layers is 1000000000": lambda f: changed(f, encoder_layers=1_000_000_000),
    "has a weight 'model.decoder.layers.1": lambda f: changed(f, decoder_layers=1),
    r"encoder_attn.k_proj.bias' is \(8,\), expected \(10,\)": lambda f: changed(f, d_model=10),
    "d_model: expected an even number": lambda f: changed(f, d_model=9),
    "has no weight for decoder_0/cross_attention/W_q/bias": lambda f: with_weight(
        f, "model.decoder.layers.0.encoder_attn.q_proj.bias", None
    ),
    "is another matrix than the embedding that it is tied to": lambda f: with_weight(
        f, "lm_head.weight", f["model.safetensors"]["model.shared.weight"] + 1
    ),
    "has NaN": lambda f: with_weight(
        f, "final_logits_bias", np.full((1, len(f["vocab.json"])), np.nan, "float32")
    ),
}


def changed(files, **entries):
    return {"config.json": {**files["config.json"], **entries}}


@pytest.mark.parametrize("said", BAD)
def test_what_cannot_be_converted_is_one_line_and_nothing_is_written(files, write, run, tmp_path, said):
    folder = write({**files, **BAD[said](files)})
    with pytest.raises(PresetError, match=said) as error:
        Translator.from_preset(folder)
    assert "\n" not in str(error.value) and str(folder) in str(error.value)
    if said.startswith("has NaN"):
        code, out, err = run("fetch", folder, "--output", tmp_path / "new" / "model")
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert sorted(os.listdir(tmp_path)) == ["published"]


def test_a_folder_that_is_no_published_model_is_named(run, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(PresetError, match="has no manifest.json"):
        Translator.from_preset(tmp_path)
    code, out, err = run("fetch", "small", "--from", tmp_path, "--output", tmp_path / "new")
    assert (code, out) == (2, "") and "with --output, without --from" in err
    code, out, err = run("fetch", tmp_path, "--output", tmp_path / "new")
    assert (code, out) == (2, "") and "--output converts Marian models, and this is no such model" in err

"""Speed of a Transformer of the size of OPUS-MT, with random weights, by three engines.

    python benchmarks/marian_speed.py write FOLDER
    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/marian_speed.py ENGINE FOLDER

The first writes a model in the layout of the Hub: 6 + 6 layers of 512, 58,101 pieces. The second prints a row
of a Markdown table for each batch size and beam width: sentences per second and per CPU second. ENGINE is
`keraszoo`, `ctranslate2` or `transformers`, which needs that package and PyTorch, and no keraszoo. Every
sentence has 24 pieces; `</s>` has no probability, so every translation has 24, too. Each search runs once
before the clock starts. The translations are written to FOLDER.ENGINE.txt.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WIDTH, HIDDEN, LAYERS, HEADS, SIZE, LENGTH = 512, 2048, 6, 8, 58_101, 24
ASKED = ((64, 1, 64), (64, 4, 64), (1, 1, 8), (1, 4, 8))  # sentences at a time, beam width, sentences


def write(folder):
    """Writes the model. Its pieces are words, `w2` to `w58099`."""
    import safetensors.numpy
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)

    def normal(*shape):
        return draw.normal(0, shape[-1] ** -0.5, shape).astype("float32")

    weights = {
        "model.shared.weight": normal(SIZE, WIDTH),
        "final_logits_bias": np.zeros((1, SIZE), "float32"),
    }
    weights["final_logits_bias"][0, 0] = -1e4
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(LAYERS):
            start = f"model.{side}.layers.{layer}"
            maps = {f"{a}.{m}_proj": (WIDTH, WIDTH) for a in attentions for m in ("q", "k", "v", "out")}
            for name, shape in {**maps, "fc1": (HIDDEN, WIDTH), "fc2": (WIDTH, HIDDEN)}.items():
                weights[f"{start}.{name}.weight"], weights[f"{start}.{name}.bias"] = (
                    normal(*shape),
                    normal(shape[0]),
                )
            for name in (*attentions, "final"):
                weights[f"{start}.{name}_layer_norm.weight"] = np.ones(WIDTH, "float32")
                weights[f"{start}.{name}_layer_norm.bias"] = np.zeros(WIDTH, "float32")
    safetensors.numpy.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    model, pieces = ModelProto(), ["</s>", "<unk>", *(f"\u2581w{i}" for i in range(2, SIZE - 1)), "<pad>"]
    model.trainer_spec.model_type = 1
    for piece, score, kind in [("<unk>", 0, 2), ("<s>", 0, 3), *((piece, -9, 1) for piece in pieces[2:-1])]:
        model.pieces.add(piece=piece, score=score, type=kind)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.SerializeToString())
    stack = {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": HIDDEN}
    special = {"pad_token_id": SIZE - 1, "decoder_start_token_id": SIZE - 1, "eos_token_id": 0}
    config = {
        "model_type": "marian", "architectures": ["MarianMTModel"], "d_model": WIDTH, "vocab_size": SIZE,
        "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 512, **special,
        **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in stack.items()},
    }  # fmt: skip
    search = {"num_beams": 4, "max_length": 512, "bad_words_ids": [[SIZE - 1]], **special}
    files = {"config.json": config, "generation_config.json": search, "tokenizer_config.json": {}}
    for name, content in {**files, "vocab.json": {piece: i for i, piece in enumerate(pieces)}}.items():
        (folder / name).write_text(json.dumps(content))


def by_keraszoo(folder, engine):
    """The function that translates texts with a batch size and a beam width."""
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
    from keraszoo import Translator

    translator = Translator.from_preset(folder)
    if engine == "ctranslate2":
        with tempfile.TemporaryDirectory() as place:
            translator.export(Path(place, "model"), format="ctranslate2")
            translator = Translator.from_preset(Path(place, "model"), engine="ctranslate2")
    return lambda texts, size, width: translator.translate(texts, size, beam_width=width, max_length=LENGTH)


def by_transformers(folder):
    """As `by_keraszoo`."""
    import torch
    from transformers import MarianMTModel, MarianTokenizer

    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)

    def translate(texts, size, width):
        found = []
        for first in range(0, len(texts), size):
            batch = tokenizer(texts[first : first + size], return_tensors="pt", padding=True)
            with torch.inference_mode():
                ids = model.generate(**batch, num_beams=width, max_new_tokens=LENGTH, max_length=None)
            found += tokenizer.batch_decode(ids, skip_special_tokens=True)
        return found

    return translate


def main(engine, folder):
    """Writes the model, or measures an engine."""
    folder = Path(folder)
    if engine == "write":
        return write(folder)
    translate = by_transformers(folder) if engine == "transformers" else by_keraszoo(folder, engine)
    draw = np.random.default_rng(1)
    every = []
    for size, width, count in ASKED:
        words = draw.integers(2, SIZE - 1, (count, LENGTH - 1))
        texts = [" ".join(f"w{i}" for i in row) for row in words]
        translate(texts[: max(size, 2)], size, width)
        wall, cpu = time.perf_counter(), time.process_time()
        found = translate(texts, size, width)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if any(len(text.split()) != LENGTH for text in found):
            raise SystemExit(f"{engine}: a translation does not have {LENGTH} pieces")
        print(f"| {engine} | {size} | {width} | {count / wall:.1f} | {count / cpu:.1f} |", flush=True)
        every += found
    Path(f"{folder}.{engine}.txt").write_text("\n".join(every))


if __name__ == "__main__":
    main(*sys.argv[1:])

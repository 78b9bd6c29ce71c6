"""Training and search on JAX: the same translator, learned and asked where TensorFlow is not used."""

import json
import os
import subprocess
import sys

import pytest

CHECK = """
import sys, json, keras
from keraszoo import Translator
assert keras.backend.backend() == "jax"
saved, source = sys.argv[1], sys.argv[2:]
translator = Translator.from_preset(saved)
translations = translator.translate(source), translator.translate(source[:3], beam_width=1)
pairs = [(text, text) for text in source]
settings = {"epochs": 2, "batch_tokens": 64, "shapes": 2, "monitor": "val_loss", "average_last": 2}
history = translator.fit(pairs * 4, pairs, **settings).history
bleu = translator.fit(pairs, pairs, epochs=1, batch_tokens=512, shapes=1, steps=1).history["val_bleu"]
print(json.dumps([*translations, history["val_loss"], history["tokens_per_s"], bleu]))
"""


def test_on_jax_a_translator_says_the_same_and_learns(trained, trained_directory, test_pairs):
    pytest.importorskip("jax")
    sources = [source for source, _ in test_pairs[:11]]
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(trained_directory), *sources],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    beam, greedy, losses, speeds, bleu = json.loads(done.stdout.strip().splitlines()[-1])
    assert beam == trained.translate(sources)
    assert greedy == trained.translate(sources[:3], beam_width=1)
    assert losses[1] < losses[0] and min(speeds) > 0 and 0 <= bleu[0] <= 100

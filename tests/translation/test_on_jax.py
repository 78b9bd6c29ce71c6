"""Training and search on JAX: the same translator, learned and asked where there is no TensorFlow."""

import json

import numpy as np
import pytest

from keraszoo import Translator

CHECK = """
import sys, json
sys.modules["tensorflow"] = None  # importing it is an error now
import keras
import numpy as np
from keraszoo import Translator
assert keras.backend.backend() == "jax"
saved, learned, source = sys.argv[1], sys.argv[2], sys.argv[3:]
translator = Translator.from_preset(saved)
translations = translator.translate(source), translator.translate(source[:3], beam_width=1)
pairs = [(text, text) for text in source]
settings = {"epochs": 2, "batch_tokens": 64, "shapes": 2, "monitor": "val_loss", "average_last": 2}
history = translator.fit(pairs * 4, pairs, **settings).history
bleu = translator.fit(pairs, pairs, epochs=1, batch_tokens=512, shapes=1, steps=1).history["val_bleu"]
translator.save_to_preset(learned)
ids = np.array([[5, 6, 7, 3], [8, 3, 0, 0]]), np.array([[2, 9, 4], [2, 7, 0]])
logits = keras.ops.convert_to_numpy(translator.model(ids))
print(json.dumps([*translations, history["val_loss"], history["tokens_per_s"], bleu, logits.tolist()]))
"""


@pytest.mark.slow
def test_on_jax_a_translator_says_the_same_and_learns(
    trained, trained_directory, test_pairs, tmp_path, on_backend
):
    sources = [source for source, _ in test_pairs[:11]]
    said = on_backend("jax", CHECK, trained_directory, tmp_path / "learned", *sources)
    beam, greedy, losses, speeds, bleu, logits = json.loads(said.strip().splitlines()[-1])
    assert beam == trained.translate(sources)
    assert greedy == trained.translate(sources[:3], beam_width=1)
    assert losses[1] < losses[0] and min(speeds) > 0 and np.isfinite(bleu[0])

    here = Translator.from_preset(tmp_path / "learned")
    ids = np.array([[5, 6, 7, 3], [8, 3, 0, 0]]), np.array([[2, 9, 4], [2, 7, 0]])
    np.testing.assert_allclose(here.model(ids).numpy(), logits, rtol=1e-4, atol=1e-4)
    weights = zip(here.model.get_weights(), trained.model.get_weights(), strict=True)
    assert not all(np.array_equal(one, other) for one, other in weights)  # it did learn something

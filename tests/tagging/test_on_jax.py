"""Tagging and training of a tagger on JAX: the same tags, and something learnt, without TensorFlow."""

import json

import pytest

CHECK = """
import json, sys
sys.modules["tensorflow"] = None  # importing it is an error now
import keras
from keraszoo import EntityTagger
from keraszoo.text.tagged_corpus import TaggedSentence
assert keras.backend.backend() == "jax"
tagger = EntityTagger.from_preset(sys.argv[1])
tags = tagger.tag_tokens([text.split() for text in sys.argv[2:]])
sentences = [TaggedSentence(("Oslo", "and", "Rome"), ("B-LOC", "O", "B-LOC"))] * 8
settings = {"epochs": 2, "shapes": 1, "batch_tokens": 24, "optimizer": {"learning_rate": 0.01}}
history = tagger.fit(sentences, sentences[:2], **settings).history
print(json.dumps([tags, history["val_loss"], history["val_f1"]]))
"""


@pytest.mark.slow
def test_on_jax_a_tagger_says_the_same_and_learns(
    trained_tagger, tagger_directory, other_sentences, on_backend
):
    texts = [" ".join(sentence.tokens) for sentence in other_sentences[:5]]
    said = on_backend("jax", CHECK, tagger_directory, *texts)
    tags, losses, f1 = json.loads(said.strip().splitlines()[-1])
    assert tags == trained_tagger.tag_tokens([text.split() for text in texts])
    assert losses[1] < losses[0] and len(f1) == 2

"""Models that ship, at work: three sentences translated, and where one of the models looked.

    make demo      # runs this first; or: pip install 'keraszoo[plot]' and python examples/shipped.py

The picture is runs/shipped/attention.png: each German word, in its row, and how much RNNsearch looked at each
English one. `keraszoo list` shows all models that ship.
"""

from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import QuestionAnswerer, Translator
from keraszoo.plots import attention_heatmap
from keraszoo.text.words import merge_subwords

SENTENCES = [
    "Where did you park the car?",
    "I would like a cup of tea, please.",
    "She has never been to Berlin.",
]
STORY = ["John went to the kitchen.", "Mary took the football.", "Mary went to the garden."]


def main():
    """Translates, answers and draws."""
    for name in ("tatoeba_en_de_transformer", "tatoeba_en_fr_transformer"):
        print(name)
        for source, target in zip(SENTENCES, Translator.from_preset(name).translate(SENTENCES), strict=True):
            print(f"  {source} -> {target}")

    answer = QuestionAnswerer.from_preset("babi_memory_network").answer(STORY, "Where is the football?")
    print(f"babi_memory_network\n  {' '.join(STORY)} Where is the football? -> {answer.text}")

    found = Translator.from_preset("tatoeba_en_de_rnnsearch").translate_details(SENTENCES[2:])[0]
    picture = Path("runs/shipped/attention.png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    words = merge_subwords(found.source_tokens, found.tokens, found.attention_weights)
    attention_heatmap(*words, path=picture)
    print(f"{picture} shows where tatoeba_en_de_rnnsearch looked for: {found.text}")


if __name__ == "__main__":
    main()

"""Runs the included models: translates, finds names, answers a question and draws attention weights.

    make demo      # runs this first; or: pip install --editable '.[plot]' and python examples/shipped.py

The picture runs/shipped/attention.png has a row per German word with its attention to each English word. The
page runs/shipped/entities.html highlights the names. `keraszoo list` shows all models.
"""

from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import EntityTagger, QuestionAnswerer, Translator
from keraszoo.plots import html_page, save_html
from keraszoo.tagging.lines import bracketed

SENTENCES = [
    "Where did you park the car?",
    "I would like a cup of tea, please.",
    "She has never been to Berlin.",
]
NAMES = "Ada Lovelace was born in London and wrote to Charles Babbage at the University of Cambridge."
STORY = ["John went to the kitchen.", "Mary took the football.", "Mary went to the garden."]


def main():
    """Translates, finds names, answers and draws."""
    output = Path("runs/shipped")
    output.mkdir(parents=True, exist_ok=True)
    for name in ("tatoeba_en_de_transformer", "tatoeba_en_fr_transformer"):
        print(name, flush=True)
        translations = Translator.from_preset(name).translate(SENTENCES, beam_width=1)
        for source, target in zip(SENTENCES, translations, strict=True):
            print(f"  {source} -> {target}")

    (tagged,) = EntityTagger.from_preset("english_entities").tag_details([NAMES])
    print(f"english_entities\n  {bracketed(tagged)[0]}")
    page = output / "entities.html"
    save_html(html_page([tagged]), page)

    answer = QuestionAnswerer.from_preset("babi_memory_network").answer(STORY, "Where is the football?")
    print(f"babi_memory_network\n  {' '.join(STORY)} Where is the football? -> {answer.text}")

    drawn = Translator.from_preset("tatoeba_en_de_rnnsearch").translate_details(SENTENCES[2:])[0]
    picture = output / "attention.png"
    drawn.plot(picture)
    print(f"{page} has the names in colour")
    print(f"{picture} shows where tatoeba_en_de_rnnsearch looked for: {drawn.text}")


if __name__ == "__main__":
    main()

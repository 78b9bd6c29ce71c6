"""Size, score and CPU time of included models in float32 and in int8, weights alone or inputs too.

    python experiments/tatoeba.py prepare en-de.tsv.gz runs/tatoeba_en_de
    python benchmarks/int8.py runs/tatoeba_en_de/test.tsv en_ewt-ud-dev.iob2.gz

The first file has pairs of Tatoeba, which the models have not seen; the first 500 are translated greedily.
The second has sentences of Universal NER (English EWT, development), of which the labels PER, LOC and ORG
count. Prints a row of a table in Markdown for each model: megabytes of its weights when saved, BLEU or strict
F1, and CPU seconds of a second call, after the first one has traced the graph.
"""

import argparse
import itertools
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras

from keraszoo import EntityTagger, Translator
from keraszoo.text.parallel import read_pairs
from keraszoo.text.tagged_files import read_tagged

PAIRS = 500
LABELS = ("PER", "LOC", "ORG")
CONFIGURATIONS = {
    "float32": None,
    "int8 weights": keras.quantizers.Int8QuantizationConfig(activation_quantizer=None),
    "int8 weights and inputs": keras.quantizers.Int8QuantizationConfig(),
}


def row(name, read, score):
    """The figures of one model: `score` is given the task and returns a text."""
    cells = [f"`{name}`"]
    for quantization in CONFIGURATIONS.values():
        task = read(name)
        if quantization is not None:
            task.model.quantize(config=quantization)
        with tempfile.TemporaryDirectory() as folder:
            task.save_to_preset(Path(folder, "saved"))
            size = Path(folder, "saved", "model.safetensors").stat().st_size / 1e6
        score(task)
        start = time.process_time()
        figure = score(task)
        cells.append(f"{size:.1f} MB, {figure}, {time.process_time() - start:.1f} s")
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", help="a file of pairs, English and German")
    parser.add_argument("sentences", help="a tagged file")
    arguments = parser.parse_args()
    sources, targets = map(list, zip(*itertools.islice(read_pairs(arguments.pairs), PAIRS), strict=True))
    corpus = read_tagged(arguments.sentences)

    def bleu(translator):
        return f"{translator.evaluate(sources, targets, beam_width=1).bleu.score:.2f} BLEU"

    def f1(tagger):
        return f"{tagger.evaluate(corpus, labels=list(LABELS)).f1.score:.2f} F1"

    print("| model |", " | ".join(CONFIGURATIONS), "|\n|---|---|---|---|")
    row("tatoeba_en_de_transformer", Translator.from_preset, bleu)
    row("tatoeba_en_de_rnnsearch", Translator.from_preset, bleu)
    row("english_entities", EntityTagger.from_preset, f1)


if __name__ == "__main__":
    main()

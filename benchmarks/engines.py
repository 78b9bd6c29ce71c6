"""BLEU and speed of a Transformer by Keras and by CTranslate2, on held-out sentences of Tatoeba.

    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/engines.py MODEL en-de.tsv.gz [SENTENCES]

Prints a row of a Markdown table for each engine and beam width. Batches have 64 sentences. Compiling is not
measured: the first 128 sentences are translated once before.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import tatoeba

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import Translator
from keraszoo.evaluation.translation import score_translations

BEAMS = (1, 5)


def main(model, corpus, count=None):
    """Prints the table of a model, on the sentences that examples/tatoeba.py holds out."""
    *_, test, _ = tatoeba.split(corpus)
    sources, references = map(list, zip(*test[: count and int(count)], strict=True))
    translator = Translator.from_preset(model)
    print("| engine | beam | sentences/s | sentences per CPU second | BLEU | same as Keras | model.bin |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        keras = measure("Keras", translator, sources, references)
        for quantize in ("float32", "float16", "int8"):
            directory = Path(folder, quantize)
            translator.export(directory, format="ctranslate2", quantize=quantize)
            engine = Translator.from_preset(directory, engine="ctranslate2")
            size = f"{(directory / 'model.bin').stat().st_size / 1e6:.1f} MB"
            measure(f"CTranslate2 {quantize}", engine, sources, references, keras, size)


def measure(name, translator, sources, references, others=None, size=""):
    """Prints the rows of an engine; returns its translations by beam width."""
    translations = {}
    for width in BEAMS:
        translator.translate(sources[:128], beam_width=width)
        wall, cpu = time.perf_counter(), time.process_time()
        translations[width] = translator.translate(sources, beam_width=width)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        bleu = score_translations(translations[width], references).bleu.score
        speed = [f"{len(sources) / seconds:.0f}" for seconds in (wall, cpu)]
        same = sum(map(str.__eq__, translations[width], (others or translations)[width]))
        print("|", " | ".join([name, str(width), *speed, f"{bleu:.2f}", f"{same:,}", size]), "|", flush=True)
    return translations


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

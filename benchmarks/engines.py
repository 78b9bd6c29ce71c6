"""BLEU and speed of a Transformer by Keras and by CTranslate2, and the cost of each export format.

    OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 python benchmarks/engines.py MODEL en-de.tsv.gz [SENTENCES]
    python benchmarks/engines.py --formats MODEL TEXT [SENTENCES]

The first prints a row of a Markdown table for each engine and beam width, on held-out sentences of Tatoeba.
Batches have 64 sentences. Compiling is not measured: the first 128 sentences are translated once before.

The second exports a translator or tagger in every format and runs each in a process of its own on one core:
CPU seconds of loading with imports and of the first answer, then sentences per CPU second one at a time and
in batches of 64, the second time that they are seen. Translators search greedily. TEXT has a sentence a line.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
import tatoeba

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import EntityTagger, Translator
from keraszoo.cli.app import task
from keraszoo.errors import KerasZooError
from keraszoo.evaluation.translation import score_translations
from keraszoo.text.lines import read_lines

BEAMS = (1, 2, 5)
ALONE = 200  # sentences that are asked one at a time

# What loads an export and answers a list of texts, by task and format.
USES = {
    ("translation", "savedmodel"): """
import tensorflow as tf, tensorflow_text
loaded = tf.saved_model.load(folder)
translate = loaded.signatures["translate"]
answer = lambda some: [text.decode() for text in translate(text=tf.constant(some))["translation"].numpy()]
""",
    ("translation", "onnx"): "import translate; answer = translate.Translator(folder).translate",
    ("translation", "ctranslate2"): """
import ctranslate2, sentencepiece
settings = json.load(open(folder + "/keraszoo.json"))
files = [folder + "/" + name for name in settings["subwords"]]
sides = [sentencepiece.SentencePieceProcessor(model_file=file) for file in files]
engine, options = ctranslate2.Translator(folder), settings["translate_batch"]
search = lambda some: engine.translate_batch(sides[0].encode(some, out_type=str), **options)
answer = lambda some: [sides[-1].decode(found.hypotheses[0]) for found in search(some)]
""",
    ("tagging", "savedmodel"): """
import tensorflow as tf, tensorflow_text
loaded = tf.saved_model.load(folder)
answer = lambda some: [[x.decode() for x in row] for row in loaded.tag(tf.constant(some))["tags"].to_list()]
""",
    ("tagging", "onnx"): """
import tag
tagger = tag.Tagger(folder)
answer = lambda some: [[word[3] for word in words] for words in tagger.tag(some)]
""",
}
PROGRAM = """
import json, sys, time
folder, use, alone = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, folder)
texts, clock = json.load(sys.stdin), time.process_time

def timed(function, texts, size):
    start = clock()
    answers = [one for i in range(0, len(texts), size) for one in function(texts[i:i + size])]
    return clock() - start, answers

start = clock()
exec(use)
figures = {"load": clock() - start, "first": timed(answer, texts[:1], 1)[0]}
for size, some in ((1, texts[:alone]), (64, texts)):
    timed(answer, some, size)
    seconds, answers = timed(answer, some, size)
    figures[str(size)] = len(some) / seconds
print(json.dumps({**figures, "answers": answers}))
"""


def on_one_core():
    """Binds this process to one of its cores."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def formats(model, path, count=None):
    """Prints the table of the formats of a model, on the lines of a file."""
    texts, kind = list(read_lines(path))[: count and int(count)], task(model)
    if kind == "translation":
        loaded = Translator.from_preset(model)
        loaded.search = loaded.search.replace(beam_width=1)
        wanted = loaded.translate(texts)
    else:
        loaded = EntityTagger.from_preset(model)
        wanted = [tagged.tags for tagged in loaded.tag_details(texts)]
    print("| format | size | load | first answer | one at a time | batches of 64 | same as Keras |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for of, name in USES if of == kind):
            try:
                loaded.export(Path(folder, name), format=name)
            except KerasZooError as error:
                print(f"| {name} | {error} |")
                continue
            command = [sys.executable, "-c", PROGRAM, str(Path(folder, name)), USES[kind, name], str(ALONE)]
            given = {"input": json.dumps(texts), "text": True, "stdout": subprocess.PIPE, "check": True}
            ran = subprocess.run(command, **given, preexec_fn=on_one_core)
            figures = json.loads(ran.stdout)
            size = sum(file.stat().st_size for file in Path(folder, name).rglob("*") if file.is_file())
            same = sum(ours == theirs for ours, theirs in zip(wanted, figures["answers"], strict=True))
            print(
                f"| {name} | {size / 1e6:.1f} MB | {figures['load']:.2f} s | {figures['first']:.2f} s | "
                f"{figures['1']:.0f} | {figures['64']:.0f} | {same:,} of {len(texts):,} |",
                flush=True,
            )


def main(model, corpus, count=None):
    """Prints the table of a model, on the sentences that experiments/tatoeba.py holds out."""
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
    if sys.argv[1:2] == ["--formats"] and 4 <= len(sys.argv) <= 5:
        formats(*sys.argv[2:])
    elif 3 <= len(sys.argv) <= 4:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)

"""Measures what a process waits for before its first result: imports, loading, tracing, compiling.

    python benchmarks/start_up.py                      # all groups; a fresh process for each
    python benchmarks/start_up.py translate --model tatoeba_en_de_rnnsearch

Prints a line per phase with CPU seconds (all threads, and the processes that it started) and wall seconds.
Compare CPU seconds, because other work on the machine changes the wall time. The group `stock` trains a tiny
Transformer for one batch by Keras' own `compile` and `fit`, `jit_compile="auto"` included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

MODEL = "tatoeba_en_de_transformer"
SENTENCES = [
    "Where did you park the car?",
    "I would like a cup of tea, please.",
    "She has never been to Berlin.",
    "Tom told me that he was going to learn how to swim this summer, but I do not believe him.",
]
WHAT = (
    "is at home.", "went to school by bus.", "does not like the cold weather in winter.", "reads books.",
    "asked me if I could help him.", "has two dogs.", "bought a new car.", "cannot come tonight.",
)  # fmt: skip
BATCH = [f"{who} {what}" for who in "Tom Mary John Anna Paul Lucy Mike Emma".split() for what in WHAT]


class Phases:
    """Prints the CPU and wall seconds since the last call."""

    def __init__(self, group):
        self.group = group
        self.before = self.now()

    def now(self):
        """CPU seconds of this process and of those it waited for, and the time of day."""
        return sum(os.times()[:4]), time.perf_counter()

    def __call__(self, phase):
        cpu, wall = (after - before for after, before in zip(self.now(), self.before, strict=True))
        print(f"| {self.group} | {phase} | {cpu:.1f} | {wall:.1f} |", flush=True)
        self.before = self.now()


def translate(model, folder):
    """A library user's first translations."""
    phase = Phases("translate")
    from keraszoo import Translator

    phase("imports")
    translator = Translator.from_preset(model)
    phase("from_preset")
    for number, sentence in enumerate(SENTENCES, start=1):
        translator.translate([sentence])
        phase(f"sentence {number}")
    translator.translate(BATCH)
    phase("64 sentences")
    translator.translate(BATCH)
    phase("64 sentences again")
    translator.translate(SENTENCES[:1], beam_width=1)
    phase("one sentence, greedy")
    for sentence in [*BATCH[:20], *SENTENCES]:
        translator.translate([sentence])
    phase("24 more sentences, one by one")


def command(model, folder):
    """A sentence on the command line, and commands that need no model."""
    phase = Phases("command")
    for arguments in (["--help"], ["list"], ["translate", "--help"]):
        run = [sys.executable, "-m", "keraszoo", *arguments]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        phase(" ".join(["keraszoo", *arguments]))
    run = [sys.executable, "-m", "keraszoo", "translate", model]
    subprocess.run(run, input=SENTENCES[0].encode(), check=True, stdout=subprocess.DEVNULL)
    phase("keraszoo translate, one line")


def export(model, folder):
    """An export and its verification."""
    phase = Phases("export")
    from keraszoo import Translator

    translator = Translator.from_preset(model)
    phase("imports, from_preset")
    translator.export(folder)
    phase("export")
    translator.verify_export(folder, SENTENCES)
    phase("verify_export, 4 sentences")


def serve(model, folder):
    """The first calls of a SavedModel, which the group `export` wrote."""
    phase = Phases("serve")
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    phase("imports")
    loaded = tf.saved_model.load(folder)
    phase("load")
    function = loaded.signatures["translate"]
    for number, sentence in enumerate(SENTENCES, start=1):
        function(text=tf.constant([sentence]))
        phase(f"call {number}, one sentence")
    for call in ("first", "second"):
        function(text=tf.constant(BATCH))
        phase(f"{call} call, 64 sentences")


def fit(model, folder):
    """Two updates of a small translator on 200 pairs."""
    phase = Phases("fit")
    from num2words import num2words

    from keraszoo import Translator
    from keraszoo.models import Transformer
    from keraszoo.text.subwords import Subwords

    phase("imports")
    pairs = [(num2words(n), num2words(n, lang="de")) for n in range(9_800, 10_000)]
    subwords = Subwords.train([text for pair in pairs for text in pair], vocabulary_size=100)
    sizes = {"d_model": 64, "num_layers": 2, "num_heads": 4, "intermediate_dim": 128}
    translator = Translator(Transformer(subwords.vocabulary_size, **sizes), subwords)
    phase("make the translator")
    translator.fit(pairs, epochs=1, batch_tokens=2048, verbose=0)
    phase("fit, 200 pairs")
    translator.fit(pairs, pairs[:20], epochs=1, batch_tokens=2048, verbose=0)
    phase("fit again, 20 held-out pairs")


def stock(model, folder):
    """One batch of a tiny Transformer by Keras' own `fit`."""
    phase = Phases("stock")
    import keras
    import numpy as np

    from keraszoo.models import Transformer

    phase("imports")
    model = Transformer.from_configuration("tiny", source_vocabulary_size=1000)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    ids = np.random.default_rng(0).integers(4, 1000, (32, 16))
    phase("make and compile")
    model.fit((ids, ids), ids, batch_size=32, verbose=0)
    phase("fit, one batch")


GROUPS = {f.__name__: f for f in (command, translate, export, serve, fit, stock)}


def main():
    """Runs each group in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--folder", help="of this process' export")
    options = parser.parse_args()
    if options.folder is not None:
        GROUPS[options.groups[0]](options.model, options.folder)
        return
    print("| group | phase | CPU s | wall s |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        groups = options.groups or list(GROUPS)
        if "serve" in groups and "export" not in groups[: groups.index("serve")]:
            groups.insert(groups.index("serve"), "export")  # writes what it serves
        for group in groups:
            run = [sys.executable, __file__, group, "--model", options.model, "--folder", f"{folder}/export"]
            subprocess.run(run, check=True)


if __name__ == "__main__":
    main()

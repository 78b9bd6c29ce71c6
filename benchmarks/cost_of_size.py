"""Measures time and memory of data and training against corpus size and sentence length.

    python benchmarks/cost_of_size.py --pairs 10000 100000 1000000 10000000 --plot corpus.png
    python benchmarks/cost_of_size.py --words 10 20 40 80 160 320 --plot length.png

Each point runs in its own process and prints a JSON line. `rss_mb` is the largest resident memory up to the
end of a stage; `start_mb` is that of the libraries and the vocabulary alone.

- `--pairs`: generated text with this many pairs. `vocabulary`: sentencepiece learns from all of it (from a
  sample of at most 5 million sentences). `memory`: the text becomes a corpus;
  its batches are planned for the first and the next epoch; a run resumes at
  `--resume-at`, up to its first batch; and a small Transformer makes `--steps` updates.
- `--words`: pairs of sentences of this length, in batches of `--batch-tokens`, for both models.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

BLOCK = 50_000  # distinct pairs; larger corpora repeat them
VOCABULARY = 4000
SIZES = {
    "transformer": {"d_model": 128, "num_layers": 2, "num_heads": 4, "intermediate_dim": 512},
    "rnnsearch": {"embedding_dim": 128, "units": 128},
}


class Stages:
    """Records the seconds of each stage and the largest memory up to its end."""

    def __init__(self):
        self.figures = {}
        self.begin()
        self.figures["start_mb"] = self.memory()

    @staticmethod
    def memory():
        """Returns the largest resident memory of this process in MB; `ru_maxrss` includes its parent's."""
        status = Path("/proc/self/status").read_text()
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)

    def begin(self):
        """Starts the clock of the next stage."""
        self.started = time.perf_counter()

    def end(self, name):
        """Ends a stage and starts the next."""
        self.figures[f"{name}_s"] = round(time.perf_counter() - self.started, 3)
        self.figures[f"{name}_rss_mb"] = self.memory()
        self.begin()


def write_text(path, pairs):
    """Writes `pairs` lines `source TAB target` of 5 to 25 generated words; frequent words are short."""
    draw = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(draw.choice(letters, 2 + i.bit_length() // 2)) for i in range(20_000)]
    lines = []
    for _ in range(min(BLOCK, pairs)):
        ranks = [np.minimum(draw.zipf(1.2, draw.integers(5, 26)), len(words)) - 1 for _ in range(2)]
        lines.append("\t".join(" ".join(words[rank] for rank in side) for side in ranks))
    with open(path, "w", encoding="utf-8") as file:
        for first in range(0, pairs, BLOCK):
            file.write("\n".join(lines[: pairs - first]) + "\n")


def vocabulary(options):
    """Measures learning subwords from a whole text."""
    from keraszoo.text.parallel import read_pairs
    from keraszoo.text.subwords import Subwords

    stages = Stages()
    Subwords.train((side for pair in read_pairs(options["text"]) for side in pair), VOCABULARY)
    stages.end("vocabulary")
    return stages.figures


def corpus(options):
    """Measures reading a corpus, planning its batches and some updates."""
    from keraszoo.models import Transformer  # import before memory is measured
    from keraszoo.text.corpus import ParallelCorpus
    from keraszoo.text.parallel import read_pairs
    from keraszoo.text.subwords import Subwords
    from keraszoo.training.token_batches import TokenBatches

    head = (pair for pair, _ in zip(read_pairs(options["text"]), range(10_000), strict=False))
    subwords = Subwords.train((side for pair in head for side in pair), VOCABULARY)
    stages = Stages()
    some = ParallelCorpus.from_pairs(read_pairs(options["text"]), subwords, subwords)
    stages.end("corpus")
    # The four shapes are compiled before the steps are timed.
    batches = TokenBatches(some, options["batch_tokens"], seed=1, shapes=4)
    batches.batch(0, 0)
    stages.end("first_batch")
    batches.batch(1, 0)
    stages.end("next_epoch")
    batches.batch(*divmod(options["resume_at"], len(batches)))
    stages.end("resume")
    fit(Transformer, SIZES["transformer"], batches, options["steps"], stages)
    tokens = int(some.sources.lengths.sum(dtype="int64") + some.targets.lengths.sum(dtype="int64"))
    stages.figures["corpus_us_a_token"] = round(1e6 * stages.figures["corpus_s"] / tokens, 4)
    return {"batches": len(batches), "tokens": tokens, **stages.figures}


def length(options):
    """Measures updates on sentences of one length."""
    from keraszoo import models
    from keraszoo.text.corpus import ParallelCorpus
    from keraszoo.training.token_batches import TokenBatches

    kind, words = {"transformer": models.Transformer, "rnnsearch": models.RNNSearch}, options["words"]
    draw = np.random.default_rng(0)
    rows = 20 * max(1, options["batch_tokens"] // (words + 1))
    sides = [draw.integers(4, VOCABULARY, size=(rows, words)) for _ in range(2)]
    some = ParallelCorpus.from_ids(*sides, pad_id=0, start_id=2, end_id=3)
    stages = Stages()
    batches = TokenBatches(some, options["batch_tokens"], seed=1, shapes=None)
    fit(kind[options["kind"]], SIZES[options["kind"]], batches, options["steps"], stages)
    return stages.figures


def fit(kind, sizes, batches, steps, stages):
    """Makes updates; the first ones include tracing and are timed separately."""
    import keras

    from keraszoo.recipes.sections import FitSection
    from keraszoo.training.adam import Adam
    from keraszoo.training.loop import train
    from keraszoo.training.losses import TokenCrossentropy
    from keraszoo.training.optimizers import InverseSquareRoot

    keras.utils.set_random_seed(1)
    model = kind(VOCABULARY, dropout=0.1, **sizes)
    model.build()
    clock = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda period, logs: stages.end("more_steps" if period else "first_steps")
    )
    stages.begin()
    settings = FitSection(epochs=1000, steps=2 * steps, steps_per_evaluation=steps)
    optimizer = Adam(InverseSquareRoot(7e-4, 4000), 0.9, 0.98, 1e-9)
    given = {"loss": TokenCrossentropy(0.1), "optimizer": optimizer, "callbacks": [clock], "verbose": 0}
    train(model, batches, settings, evaluate=None, **given)
    tokens = sum(batches.real_tokens(*divmod(i, len(batches))) for i in range(steps, 2 * steps))
    stages.figures["step_us_a_token"] = round(1e6 * stages.figures["more_steps_s"] / tokens, 3)


def points(arguments, folder):
    """Yields the arguments of each process."""
    shared = {"batch_tokens": arguments.batch_tokens, "steps": arguments.steps}
    for pairs in arguments.pairs:
        text = Path(folder, "text.tsv")
        write_text(text, pairs)
        about = {"bench": "cost-of-corpus", "pairs": pairs, **shared, "resume_at": arguments.resume_at}
        for kind in ("vocabulary", "corpus"):
            yield {**about, "kind": kind, "text": str(text)}
    for words in arguments.words:
        for kind in SIZES:
            yield {"bench": "cost-of-length", "words": words, **shared, "kind": kind}


def main():
    """Parses the command line, runs one process per point, prints and plots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--words", type=int, nargs="*", default=[])
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=20, help="timed updates, after as many warm-up updates")
    parser.add_argument("--resume-at", type=int, default=1_000_000, help="the step at which a run resumes")
    parser.add_argument("--plot", metavar="PNG", help="plot the points")
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.point:
        measure = {"vocabulary": vocabulary, "corpus": corpus}
        figures = measure.get(arguments.point["kind"], length)(arguments.point)
        arguments.point.pop("text", None)
        return print(json.dumps({**arguments.point, **figures}))
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for point in points(arguments, folder):
            command = [sys.executable, __file__, "--point", json.dumps(point)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            print(done.stdout.strip(), flush=True)
            measured.append(json.loads(done.stdout))
    if arguments.plot:
        from cost_plot import plot

        plot(measured, arguments.plot)


if __name__ == "__main__":
    main()

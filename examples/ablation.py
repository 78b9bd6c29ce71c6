"""What subword sampling and R-Drop are worth: lower-cased captions, English to German.

    python examples/ablation.py prepare MULTI30K runs/lower
    MULTI30K=runs/lower keraszoo train examples/recipes/multi30k_lower.yaml --set training.epochs=24 \\
        --set training.steps_per_evaluation=500 --set training.optimizer.schedule=inverse_sqrt \\
        --set training.precision=mixed_bfloat16 --output runs/lower_base
    python examples/ablation.py train runs/lower runs/lower_base --variants more both --seeds 1 2

Every variant starts from the same trained base and makes 800 more updates with a small learning rate. Each
run prints one line: BLEU on the validation pairs and the three test sets, and the CPU time. The table is in
pretrained/TRIALS.md.
"""

import argparse
import gzip
import sys
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras

from keraszoo import Translator
from keraszoo.errors import KerasZooError
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subword_sampling import SubwordSampling
from keraszoo.translation.training import make_corpus

TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
VARIANTS = {"more": (0, 0.0), "sampling": (0.1, 0.0), "r_drop": (0, 1.0), "both": (0.1, 1.0)}
SETTINGS = {
    "precision": "mixed_bfloat16",
    "batch_tokens": 2048,
    "epochs": 99,
    "steps": 800,
    "steps_per_evaluation": 200,
    "average_last": 4,
    "optimizer": {"schedule": "constant", "learning_rate": 3e-4},
}


def prepare(corpus, output):
    """Writes all files of the corpus in lower case."""
    Path(output).mkdir(parents=True, exist_ok=True)
    for file in sorted(Path(corpus).glob("*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf-8").lower()
        (Path(output) / file.name).write_bytes(gzip.compress(text.encode("utf-8")))


def train(corpus, base, variants, seeds):
    """Trains and scores each variant with each seed."""
    keras.config.set_dtype_policy(SETTINGS["precision"])
    pairs, validation, *tests = (
        list(read_pairs(f"{corpus}/{part}.en.gz", f"{corpus}/{part}.de.gz"))
        for part in ("train", "val", *TESTS)
    )
    _report("base", Translator.from_preset(base), tests, 0.0)
    for seed in seeds:
        for name in variants:
            start = time.process_time()
            rate, r_drop = VARIANTS[name]
            translator = Translator.from_preset(base)
            data = make_corpus(translator, pairs)
            sides = translator.source_subwords, translator.target_subwords
            data.sampling = SubwordSampling(data, sides, "bpe_dropout", rate, seed) if rate else None
            output = f"{base}_{name}_{seed}"
            checkpoints = f"{output}.checkpoints"
            translator.fit(
                data, validation, output, checkpoints, **SETTINGS, seed=seed, r_drop=r_drop, verbose=2
            )
            _report(f"{name}, seed {seed}", translator, tests, time.process_time() - start)


def _report(name, translator, tests, seconds):
    figures = [translator.metrics["validation"]["val_bleu"]]
    for test in tests:
        figures.append(translator.evaluate(*map(list, zip(*test, strict=True))).bleu.score)
    averaged = int(translator.metrics["validation"].get("averaged", 1))
    scores = "  ".join(f"{figure:.2f}" for figure in figures)
    print(f"{name:20}  {scores}  average of {averaged}, {seconds / 60:.1f} CPU min", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("prepare", "train"))
    parser.add_argument("corpus")
    parser.add_argument("other", help="prepare: the folder to write; train: the directory of the base")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    given = parser.parse_args()
    try:
        if given.command == "prepare":
            prepare(given.corpus, given.other)
        else:
            train(given.corpus, given.other, given.variants, given.seeds)
    except KerasZooError as error:
        sys.exit(str(error))

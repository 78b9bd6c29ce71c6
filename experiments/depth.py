"""Compares plain, residual and fast-forward connections in deep LSTMs, on numbers in words.

    python experiments/depth.py                              # every depth and kind, and the table
    python experiments/depth.py --depths 2 4 --steps 500     # less of it

`DeepLSTM` has no attention, so its decoder reads only what has passed through all layers of the encoder. It
translates numbers from English to German words, as in examples/number_words.py, with the same width, data and
number of updates at every depth. A finished run is a line of `depth.jsonl` in `--output` and is not repeated.
A cell of the table shows the cross entropy of held-out subwords and the share of held-out numbers that are
exactly right.
"""

import argparse
import itertools
import json
import random
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
from num2words import num2words

from keraszoo import Translator
from keraszoo.layers.recurrent_stack import CONNECTIONS
from keraszoo.models import DeepLSTM
from keraszoo.search import SearchOptions
from keraszoo.text.subwords import Subwords

COLUMNS = "depth", "connections", "seed", "steps"  # what makes a run


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/depth"))
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, default=2000, help="updates of each run")
    parser.add_argument("--numbers", type=int, default=8000, help="how many to train on")
    parser.add_argument("--units", type=int, default=96)
    return parser.parse_args()


def pairs_of(options, held_out=400):
    """Distinct numbers in words, (English, German): those to train on and those that are held out."""
    numbers = random.Random(1).sample(range(100_000), options.numbers + held_out)
    pairs = [(num2words(n, lang="en"), num2words(n, lang="de")) for n in numbers]
    return pairs[held_out:], pairs[:held_out]


def train(options, run, train_pairs, held_out):
    """Trains one model; returns the figures of a row."""
    started = time.process_time()
    keras.utils.set_random_seed(run["seed"])
    english, german = (
        Subwords.train([pair[side] for pair in train_pairs], vocabulary_size=size)
        for side, size in ((0, 100), (1, 68))
    )
    sizes = {"embedding_dim": 64, "units": options.units, "num_layers": run["depth"], "dropout": 0.1}
    model = DeepLSTM(english.vocabulary_size, german.vocabulary_size, **sizes, connections=run["connections"])
    translator = Translator(model, english, german, SearchOptions(beam_width=1, max_length=60))
    history = translator.fit(
        train_pairs,
        held_out[:200],
        checkpoints=options.output / "-".join(str(value) for value in run.values()),
        epochs=10**6,
        steps=run["steps"],
        steps_per_evaluation=max(1, run["steps"] // 4),
        batch_tokens=1024,
        seed=run["seed"],
        label_smoothing=0.0,
        monitor="val_loss",
        optimizer={"schedule": "inverse_sqrt", "learning_rate": 4e-3, "global_clipnorm": 1.0},
        verbose=0,
    )
    sources, references = zip(*held_out[200:], strict=True)
    right = sum(map(str.__eq__, translator.translate(list(sources)), references)) / len(references)
    return {
        "parameters": model.count_params(),
        "val_loss": round(history.chosen["val_loss"], 4),
        "exact": round(right, 4),
        "cpu_seconds": round(time.process_time() - started),
    }


def rows_of(file):
    """The finished runs."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(rows):
    """The rows as Markdown: loss and exact numbers for each depth and kind of connection."""
    kinds = [kind for kind in CONNECTIONS if any(row["connections"] == kind for row in rows)]
    lines = ["| layers | " + " | ".join(kind.replace("_", "-") for kind in kinds) + " |"]
    lines.append("|---" * (len(kinds) + 1) + "|")
    for depth in sorted({row["depth"] for row in rows}):
        cells = []
        for kind in kinds:
            same = [row for row in rows if (row["depth"], row["connections"]) == (depth, kind)]
            means = [sum(row[name] for row in same) / len(same) for name in ("val_loss", "exact") if same]
            cells.append(f"{means[0]:.3f}, {means[1]:.1%}" if same else "")
        lines.append(f"| {depth} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    """Trains what is not finished and prints the table."""
    options = arguments()
    file = options.output / "depth.jsonl"
    options.output.mkdir(parents=True, exist_ok=True)
    train_pairs, held_out = pairs_of(options)
    wanted = itertools.product(options.depths, CONNECTIONS, options.seeds, [options.steps])
    for values in wanted:
        run = dict(zip(COLUMNS, values, strict=True))
        if any(run.items() <= row.items() for row in rows_of(file)):
            continue
        print(run, flush=True)
        row = {**run, **train(options, run, train_pairs, held_out)}
        with file.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
    print(table([row for row in rows_of(file) if row["steps"] == options.steps]))


if __name__ == "__main__":
    main()

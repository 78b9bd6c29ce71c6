"""Measures mixtures of experts in a language model: their balance losses, and their number at equal cost.

    python experiments/mixture.py TEXT                     # all runs, the two tables and the picture
    python experiments/mixture.py TEXT --steps 300         # shorter runs
    python experiments/mixture.py TEXT --table             # only the tables and the picture

TEXT is a plain or gzipped file of lines. The model is that of Shazeer et al. 2017, small: subwords, an LSTM,
the mixture, an LSTM, a softmax, with residual sums. `EXPERTS_PER_WORD` experts compute each word, so all runs
have the same number of multiplications for a word, except for the gate; more experts only add parameters.

The first table repeats table 6 of the paper: both losses on and off, and how evenly the experts are used. The
second is its figure 2. A finished run is a line of `mixture.jsonl` in `--output`, with the share of each
expert in the held-out words, and is not repeated.
"""

import argparse
import itertools
import json
import math
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import numpy as np
from keras import ops

from keraszoo.layers import FeedForward, MixtureOfExperts, RecurrentStack
from keraszoo.plots.curves import COLOURS
from keraszoo.plots.figures import finish, new_figure
from keraszoo.text.lines import read_lines
from keraszoo.text.subwords import Subwords

EXPERTS_PER_WORD, WIDTH, INNER, VOCABULARY, LENGTH, ROWS = 2, 64, 128, 2000, 32, 32
BALANCE = [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.1, 0.1)]  # factors of the importance and of the load
EXPERTS = [0, 2, 8, 32]  # 0: one network as wide as the experts of a word together


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--output", type=Path, default=Path("runs/mixture"))
    parser.add_argument("--steps", type=int, default=3000, help="updates of each run")
    parser.add_argument("--lines", type=int, default=40_000, help="of the text that are read")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="train nothing")
    return parser.parse_args()


def runs():
    """The runs: number of experts, and the factors of both losses."""
    balance = [{"experts": 16, "importance": a, "load": b} for a, b in BALANCE]
    return balance + [{"experts": n, "importance": 0.1, "load": 0.1} for n in EXPERTS]


def rows_of_ids(options):
    """The text as rows of LENGTH + 1 subwords: those to train on, and a twentieth held out."""
    lines = [line for line in itertools.islice(read_lines(options.text), options.lines) if line.strip()]
    subwords = Subwords.train(lines[:20_000], vocabulary_size=VOCABULARY)
    ids = np.concatenate([np.asarray(row, "int32") for row in subwords.encode(lines)])
    rows = ids[: len(ids) // (LENGTH + 1) * (LENGTH + 1)].reshape(-1, LENGTH + 1)
    return rows[len(rows) // 20 :], rows[: len(rows) // 20]


def language_model(run):
    """The model, and its mixture: words `(B, T)` to the logits of the next words."""
    words = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, WIDTH)(words)
    x = x + RecurrentStack(WIDTH)(x)[0]
    if run["experts"]:
        factors = {"importance_loss": run["importance"], "load_loss": run["load"]}
        middle = MixtureOfExperts(run["experts"], INNER, EXPERTS_PER_WORD, **factors)
    else:
        middle = FeedForward(EXPERTS_PER_WORD * INNER)
    before = x
    x = x + middle(x)
    x = x + RecurrentStack(WIDTH)(x)[0]
    logits = keras.layers.Dense(VOCABULARY)(x)
    return keras.Model(words, logits), keras.Model(words, before), middle


def train(run, options, rows, held_out):
    """Trains one model; returns the figures of a row."""
    started, rng = time.process_time(), np.random.default_rng(options.seed)
    keras.utils.set_random_seed(options.seed)
    model, before, middle = language_model(run)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0), loss)
    for _ in range(options.steps):
        batch = rows[rng.integers(0, len(rows), ROWS)]
        model.train_on_batch(batch[:, :-1], batch[:, 1:])
    perplexity = math.exp(model.evaluate(held_out[:, :-1], held_out[:, 1:], batch_size=64, verbose=0))
    figures = {"perplexity": round(perplexity, 2), "parameters": model.count_params()}
    if run["experts"]:
        x = before.predict(held_out[:, :-1], batch_size=64, verbose=0).reshape(-1, WIDTH)
        gates, experts, load = middle.gate(x)
        importance = np.zeros(run["experts"])
        np.add.at(importance, ops.convert_to_numpy(experts), ops.convert_to_numpy(gates))
        load = ops.convert_to_numpy(load)
        for name, x in (("cv_importance", importance), ("cv_load", load)):
            figures[name] = round(float(x.std() / x.mean()), 3)
        figures["max_over_mean"] = round(float(load.max() / load.mean()), 2)
        figures["shares"] = [round(float(share), 4) for share in load / load.sum()]
    return {**figures, "cpu_seconds": round(time.process_time() - started)}


def tables(rows):
    """Both tables as Markdown."""
    lines = [
        "| importance | load | perplexity | CV(importance) | CV(load) | max / mean load |",
        "|---" * 6 + "|",
    ]
    for row in rows:
        if row["experts"] == 16:
            names = "importance", "load", "perplexity", "cv_importance", "cv_load", "max_over_mean"
            lines.append("| " + " | ".join(f"{row[name]}" for name in names) + " |")
    lines += ["", "| experts | parameters | perplexity |", "|---|---|---|"]
    for row in sorted(rows, key=lambda row: row["experts"]):
        if row["importance"] == row["load"] == 0.1:
            name = row["experts"] or "one wide network"
            lines.append(f"| {name} | {row['parameters']:,} | {row['perplexity']} |")
    return "\n".join(lines)


def draw(rows, path):
    """The share of each of 16 experts in the held-out words, sorted, without and with the losses."""
    figure = new_figure()
    figure.set_size_inches(6.4, 3.0)
    axes = figure.add_subplot()
    chosen = [row for row in rows if row["experts"] == 16]
    for i, row in enumerate(chosen):
        places = np.arange(16) + 0.8 * ((i + 0.5) / len(chosen) - 0.5)
        label = f"importance {row['importance']:g}, load {row['load']:g}"
        shares = sorted(row["shares"], reverse=True)
        axes.bar(places, shares, 0.8 / len(chosen), label=label, color=COLOURS[i])
    axes.axhline(1 / 16, color="#999999", linewidth=0.8, linestyle="--")
    axes.set_xlabel("experts, the fullest first")
    axes.set_ylabel("share of the words")
    axes.set_xticks(range(16), range(1, 17))
    axes.legend(frameon=False, fontsize="small")
    finish(figure, path)


def main():
    """Trains what is not finished, prints the tables and draws."""
    options = arguments()
    file = options.output / "mixture.jsonl"
    options.output.mkdir(parents=True, exist_ok=True)
    finished = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    finished = [row for row in finished if (row["steps"], row["seed"]) == (options.steps, options.seed)]
    left = [run for run in runs() if not any(run.items() <= row.items() for row in finished)]
    data = rows_of_ids(options) if left and not options.table else None
    for run in left if data else []:
        row = {**run, "steps": options.steps, "seed": options.seed}
        print(row, flush=True)
        finished.append({**row, **train(run, options, *data)})
        with file.open("a") as lines:
            lines.write(json.dumps(finished[-1]) + "\n")
    print(tables(finished))
    draw(finished, options.output / "expert_load.png")


if __name__ == "__main__":
    main()

"""Makes the results table of "Attention Is All You Need" for all models, on one data set with one recipe.

    python experiments/results_table.py MULTI30K                # all models, seeds and budgets
    python experiments/results_table.py MULTI30K --models gnmt convs2s --seeds 1 --epochs 6
    python experiments/results_table.py --draw runs/results_table/runs.json

MULTI30K is a folder with train.en.gz, train.de.gz, val..., test_2016_flickr... Each model has 1.75 to 2
million parameters, the joint vocabulary and the settings of multi30k_lineage.yaml, and learns from the
captions as they are. A budget is a number of epochs; a larger one continues the run of the smaller one.

The script prints a JSON line for each finished run and appends it to runs.json in `--output`. It skips runs
that are already there. `cpu_seconds` and `seconds` include the search on the test set. `flops` are those of
all matrix products of the training, gradients included: `counted_flops` counts a few batches, and since the
products of a batch of B sentences of S and T words need

    B (a + b S + c T + d S T + e S^2 + f T^2) + g + h T

operations, least squares gives those of the others. `flops_residual` is its largest relative error: rounding,
except for mixtures of experts, whose products depend on the sentences.

`--draw` writes two files next to that of the runs: a picture, of BLEU against FLOPs and of losses, and
results_table.json for `results/`, which has the figures of the paper, too. It also prints this table.
"""

import argparse
import json
import os
import time
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

# isort: split
import keras
import lineage
import numpy as np
from flops import counted_flops
from keras import ops

from keraszoo.errors import KerasZooError
from keraszoo.plots.curves import COLOURS, MARKERS
from keraszoo.plots.figures import finish, new_figure
from keraszoo.recipes.runs import run_recipe
from keraszoo.recipes.seeds import mean_and_deviation
from keraszoo.text.parallel import read_pairs
from keraszoo.training.token_batches import TokenBatches
from keraszoo.translation.recipe import Recipe
from keraszoo.translation.run import files_of
from keraszoo.translation.training import make_corpus

SEEDS, EPOCHS = (1, 2, 3), (3, 6)
COUNTED = 12  # batches whose products are counted
FILES = {"train": "train", "validation": "val", "test": "test_2016_flickr"}


def _gnmt(width, **overrides):
    return lineage.sized("gnmt", width, width, num_layers=4, **overrides)


def _transformer(**overrides):
    section = lineage.MODELS["transformer"][1]
    return {**section, "overrides": {**section["overrides"], **overrides}}


MODELS = {  # label, model section of the recipe
    "rnnencdec": ("RNNencdec (Cho 2014)", lineage.MODELS["cho"][1]),
    "deeplstm": ("LSTM, one layer (Sutskever 2014)", lineage.MODELS["sutskever"][1]),
    "simplified": ("RNNsearch without gates", lineage.MODELS["simplified"][1]),
    "rnnsearch": ("RNNsearch (Bahdanau 2015)", lineage.MODELS["rnnsearch"][1]),
    "luong": ("Luong 2015", lineage.MODELS["luong"][1]),
    "deep_att": ("GNMT, fast-forward (Zhou 2016)", _gnmt(108, connections="fast_forward")),
    "gnmt": ("GNMT (Wu 2016)", _gnmt(122)),
    "gnmt_experts": ("GNMT + experts (Shazeer 2017)", _gnmt(108, num_experts=4, intermediate_dim=108)),
    "convs2s": ("ConvS2S (Gehring 2017)", lineage.MODELS["convs2s"][1]),
    "transformer": ("Transformer (Vaswani 2017)", lineage.MODELS["transformer"][1]),
    "transformer_experts": (
        "Transformer + experts",
        _transformer(d_model=144, num_experts=4, intermediate_dim=160),
    ),
}
# Rows of table 2 of Vaswani et al., 2017, https://arxiv.org/abs/1706.03762, of single models: its name, BLEU
# on newstest2014 to German and to French, and the FLOPs of the training for each.
PAPER = {
    "deep_att": ("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    "gnmt": ("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    "convs2s": ("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    "gnmt_experts": ("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    "transformer": ("Transformer (base model)", 27.3, 38.1, 3.3e18, 3.3e18),
}


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder of Multi30k")
    parser.add_argument("--output", type=Path, default=Path("runs/results_table"))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--epochs", type=int, nargs="+", default=list(EPOCHS), help="the budgets")
    parser.add_argument("--set", nargs="+", action="extend", default=[], help="other settings to change")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the runs of a file, and print them")
    options = parser.parse_args()
    if (options.data is None) == (options.draw is None):
        parser.error("expected either the folder of Multi30k or --draw FILE")
    return options


def train(options):
    """Trains what is not there yet, seed by seed."""
    os.environ["MULTI30K"] = str(options.data.resolve())
    file = options.output / "runs.json"
    for seed in options.seeds:
        for name in options.models:
            for epochs in sorted(options.epochs):
                done = {_key(run): run for run in runs_of(file)}
                if (name, seed, epochs) in done:
                    continue
                shorter = [run for key, run in done.items() if key[:2] == (name, seed) and key[2] < epochs]
                run = run_of(name, seed, epochs, options)
                run["cpu_seconds"] += max((one["cpu_seconds"] for one in shorter), default=0)
                line = json.dumps(run)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(f"{line}\n")
                print(line, flush=True)
                keras.utils.clear_session()


def _key(run):
    return run["model"], run["seed"], run["epochs"]


def runs_of(file):
    """The finished runs of a file, none if there is no file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def recipe_of(name, seed, epochs, options):
    """The recipe of a run; those of one seed share their folder, so that a longer run goes on."""
    pairs = {
        part: {side: f"${{MULTI30K}}/{file}.{code}.gz" for side, code in (("source", "en"), ("target", "de"))}
        for part, file in FILES.items()
    }
    changes = [f"data.{part}={json.dumps(files)}" for part, files in pairs.items()]
    changes += [f"model={json.dumps(MODELS[name][1])}", f"training.seed={seed}", f"training.epochs={epochs}"]
    changes.append(f"output={json.dumps(os.path.relpath(options.output / f'{name}_seed{seed}'))}")
    return Recipe.read(lineage.RECIPE, [*changes, *options.set])


def run_of(name, seed, epochs, options):
    """Trains a model; returns the figures of the run, a dict."""
    recipe, started = recipe_of(name, seed, epochs, options), time.process_time()
    translator = run_recipe(recipe)
    spent, training = time.process_time() - started, translator.metrics["training"]
    corpus = make_corpus(translator, read_pairs(*files_of(recipe, recipe.data.train)), recipe.data.max_length)
    batches = TokenBatches(corpus, recipe.training.batch_tokens, seed=seed, shapes=recipe.training.shapes)
    flops, residual = flops_of(translator.model, batches, epochs)
    scores = translator.metrics["test"]
    return {
        "model": name,
        "seed": seed,
        "epochs": epochs,
        "bleu": round(scores["bleu"]["score"], 2),
        "chrf": round(scores["chrf"]["score"], 2),
        "flops": flops,
        "flops_residual": residual,
        "parameters": translator.model.count_params(),
        "target_tokens": training["target_tokens"],
        "cpu_seconds": round(spent),
        "seconds": training["seconds"],
        "val_loss": training["val_loss"],
    }


def flops_of(model, batches, epochs):
    """The FLOPs of the matrix products of a training, and the largest relative error of the fit."""
    plan = [batches.batch(epoch, i)[0] for epoch in range(epochs) for i in range(len(batches))]
    shapes = np.array([(*source.shape, target.shape[1]) for source, target in plan], "float64")
    rows, source, target = shapes.T
    one, products = np.ones_like(rows), [source, target, source * target, source**2, target**2]
    terms = np.stack([one, target, rows, *(rows * product for product in products)], axis=1)
    by_size = np.argsort(rows * (source + target) + rows, kind="stable")
    chosen = by_size[np.linspace(0, len(plan) - 1, COUNTED).astype("int64")]
    counted = np.array([counted_flops(lambda i=i: _gradient(model, plan[i])) for i in chosen], "float64")
    factors = np.linalg.lstsq(terms[chosen], counted, rcond=None)[0]
    residual = np.abs(terms[chosen] @ factors / counted - 1).max()
    return float((terms @ factors).sum()), float(residual)


def _gradient(model, inputs):
    """Computes all gradients of a batch, one operation after the other."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = ops.sum(ops.log_softmax(model(inputs, training=True))) + sum(model.losses)
    tape.gradient(loss, [weight.value for weight in model.trainable_variables])


def draw(file):
    """Draws the runs: BLEU against FLOPs, and the loss by epoch; writes and prints the table."""
    groups = {}  # by model, then by budget
    for run in sorted(runs_of(file), key=lambda run: run["epochs"]):
        groups.setdefault(run["model"], {}).setdefault(run["epochs"], []).append(run)
    if not groups:
        raise KerasZooError(f"{file}: no finished run")
    figure = new_figure()
    figure.set_size_inches(11, 4.5)
    costs, losses = figure.subplots(1, 2)
    costs.set(xscale="log", xlabel="FLOPs of the training", ylabel="BLEU")
    losses.set(xlabel="epoch", ylabel="held-out loss")
    names = [name for name in MODELS if name in groups]
    for i, name in enumerate(names):
        style = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        style |= {"linestyle": "-" if i < len(COLOURS) else "--", "label": MODELS[name][0]}
        of_budgets = groups[name].values()
        costs.plot(*([mean(key, group) for group in of_budgets] for key in ("flops", "bleu")), **style)
        longest = np.mean([run["val_loss"] for run in [*of_budgets][-1]], axis=0)
        losses.plot(range(1, len(longest) + 1), longest, **style)
    losses.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    for axes in (costs, losses):
        axes.grid(color="0.9")
    finish(figure, file.with_suffix(".png"))
    budgets = sorted({epochs for group in groups.values() for epochs in group})
    columns = ["model", "parameters", "seeds", *(f"BLEU, {epochs} epochs" for epochs in budgets)]
    columns += ["chrF2", "FLOPs", "CPU s", "in the paper", "to German", "FLOPs", "to French", "FLOPs"]
    rows = [cells(name, groups[name], budgets) for name in names]
    table = {
        "command": "python experiments/results_table.py $DATA/multi30k",
        "columns": columns,
        "rows": rows,
    }
    file.with_name("results_table.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    for row in (columns, ["---"] * len(columns), *rows):
        print(f"| {' | '.join(row)} |")


def mean(key, group):
    """The mean of a figure over runs."""
    return np.mean([run[key] for run in group])


def cells(name, groups, budgets):
    """The cells of a model: all its seeds, with the costs of the largest budget, and the row of the paper."""
    last = groups[max(groups)]
    scores = [[run["bleu"] for run in groups.get(epochs, [])] for epochs in budgets]
    bleu = [mean_and_deviation(some) if some else "" for some in scores]
    row, german, french, german_flops, french_flops = PAPER.get(name, ("", None, None, None, None))
    paper = [
        "" if value is None else f"{value:{form}}"
        for value, form in ((german, ""), (german_flops, ".1e"), (french, ""), (french_flops, ".1e"))
    ]
    size, seeds = f"{last[0]['parameters'] / 1e6:.2f} M", str(len(last))
    costs = f"{mean('flops', last):.1e}", f"{mean('cpu_seconds', last):,.0f}"
    chrf = mean_and_deviation([run["chrf"] for run in last])
    return [MODELS[name][0], size, seeds, *bleu, chrf, *costs, row, *paper]


def main():
    """Runs the command."""
    options = arguments()
    train(options) if options.draw is None else draw(options.draw)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

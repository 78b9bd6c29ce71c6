"""Compares the translation models of the papers: one table, and BLEU against the length of the source.

    python experiments/lineage.py train MULTI30K           # all models, those that carry a claim three times
    python experiments/lineage.py train MULTI30K --models cho rnnsearch --seeds 2 3
    python experiments/lineage.py --output runs/twice train MULTI30K --seeds 1 --set training.epochs=12
    python experiments/lineage.py compare MULTI30K         # all finished runs
    python experiments/lineage.py compare MULTI30K tatoeba_en_de_rnnsearch tatoeba_en_de_transformer

MULTI30K is a folder with train.en.gz, train.de.gz, val..., test_2016_flickr... All models share the recipe
multi30k_lineage.yaml: the same captions, vocabulary, number of target tokens and settings, 1.8 to 2.0 million
parameters. One training takes 5 to 14 minutes on one core; RESULTS.md has the scores. A stopped run resumes,
and a finished run is not repeated. `compare` writes the translations of each model, `lineage.md` and
`by_length.png` into `--output`. `keraszoo plot-runs` draws the losses of runs.

Multi30k's captions have 3 to 37 words, half of them fewer than 12. That is too short for the papers' claim
that a fixed vector loses long sentences and attention does not. So captions are joined, and each is used
once: half of the training pairs are one caption, the others two, three or four. The figures by length use
the test set and the same captions joined. These sources have up to 70 words, and each part is as easy as
before.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import Translator, __version__
from keraszoo.errors import KerasZooError
from keraszoo.evaluation import bleu_by_length, score_translations
from keraszoo.plots import length_plot
from keraszoo.recipes.runs import run_recipe
from keraszoo.recipes.seeds import mean_and_deviation
from keraszoo.shipping.shipped import find
from keraszoo.text.lines import read_lines, write_lines
from keraszoo.text.parallel import read_pairs
from keraszoo.translation.recipe import Recipe

RECIPE = Path(__file__).parent / "recipes" / "multi30k_lineage.yaml"
TRAINED_JOINED = (1, 1, 1, 1, 2, 2, 3, 4)  # captions per training pair, repeated
TESTED_JOINED = (2, 3, 4)
LONGEST = 60 * max(TESTED_JOINED)  # subwords allowed in the translation of a group


def sized(name, width, units, **overrides):
    """Returns the recipe section of a recurrent model with these embedding and state widths."""
    return {
        "name": name,
        "preset": "small",
        "overrides": {"embedding_dim": width, "units": units, "dropout": 0.1, **overrides},
    }


MODELS = {  # in the order of the papers: label, model section of the recipe, carries a claim
    "cho": ("Cho 2014", sized("rnnencdec", 192, 224), True),
    "sutskever": ("Sutskever 2014", sized("deeplstm", 240, 240, num_layers=1), True),
    "sutskever_2": ("Sutskever 2014, 2 layers", sized("deeplstm", 192, 192, num_layers=2), False),
    "sutskever_4": ("Sutskever 2014, 4 layers", sized("deeplstm", 144, 144, num_layers=4), False),
    "simplified": ("no gates", sized("simplified", 96, 128), False),
    "rnnsearch": ("Bahdanau 2015", sized("rnnsearch", 176, 176), True),
    "luong": ("Luong 2015", sized("luong", 208, 208, num_layers=1), False),
    "gnmt": ("Wu 2016, 3 layers", sized("gnmt", 136, 136, num_layers=3), False),
    "convs2s": (
        "Gehring 2017",
        sized("convs2s", 160, 160, num_layers=3, max_positions=256),
        False,
    ),
    "transformer": (
        "Vaswani 2017",
        {
            "name": "transformer",
            "preset": "tiny",
            "overrides": {"d_model": 160, "num_layers": 2, "intermediate_dim": 448, "dropout": 0.1},
        },
        True,
    ),
}
SEEDS = (1, 2, 3)


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/lineage"))
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "compare"):
        command = commands.add_parser(name)
        command.add_argument("data", type=Path, help="folder of Multi30k")
        if name == "train":
            command.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
            command.add_argument(
                "--seeds",
                type=int,
                nargs="+",
                help="default: 1, and 2 and 3 for models that carry a claim",
            )
            command.add_argument(
                "--set", nargs="+", action="extend", default=[], help="other recipe settings to change"
            )
        else:
            command.add_argument(
                "others", nargs="*", help="translator directories or names of included translators"
            )
    return parser.parse_args()


def train(options):
    """Trains the requested models, one seed after the other, and translates the test set."""
    os.environ["MULTI30K"] = str(options.data.resolve())
    for part, file in (("train", "train"), ("validation", "val")):
        write_joined(options.data, file, options.output / f"{part}.tsv")
    for seed in options.seeds or SEEDS:
        for name in options.models:
            if options.seeds or seed == SEEDS[0] or MODELS[name][2]:
                place = options.output / f"{name}_seed{seed}"
                print(place, flush=True)
                run_recipe(recipe_of(name, seed, options.output, options.set))
                translations(place, options)


def recipe_of(name, seed, output, others=()):
    """Returns the recipe for one model and seed, with its files in `output`."""
    changes = [f"model={json.dumps(MODELS[name][1])}", f"training.seed={seed}", *others]
    # Relative paths keep machine folders out of the model directory.
    folder = os.path.relpath(output)
    changes += [
        f"data.{part}={json.dumps({'tsv': f'{folder}/{part}.tsv'})}" for part in ("train", "validation")
    ]
    return Recipe.read(RECIPE, [*changes, f"output={json.dumps(f'{folder}/{name}_seed{seed}')}"])


def joined(pairs, sizes):
    """Joins neighbouring pairs in complete groups; the group sizes cycle through `sizes`."""
    pairs = iter(pairs)
    for size in itertools.cycle(sizes):
        group = list(itertools.islice(pairs, size))
        if len(group) < size:
            return
        yield tuple(" ".join(side) for side in zip(*group, strict=True))


def write_joined(data, name, path):
    """Writes a tab-separated file with each pair of Multi30k's `name` once, alone or in a group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(data / f"{name}.en.gz", data / f"{name}.de.gz")
    write_lines(path, map("\t".join, joined(pairs, TRAINED_JOINED)))


def test_pairs(data):
    """Returns `(alone, longer)`: the pairs of the test set, and the same pairs joined."""
    alone = list(read_pairs(data / "test_2016_flickr.en.gz", data / "test_2016_flickr.de.gz"))
    return alone, [pair for size in TESTED_JOINED for pair in joined(alone, [size])]


def translations(place, options):
    """Translates `test_pairs`, or reads the translations of an earlier call with the same model."""
    manifest = Path(find(place), "manifest.json").read_bytes()
    digest = hashlib.sha256(manifest + __version__.encode()).hexdigest()[:12]
    file = options.output / "translations" / f"{Path(place).name}-{digest}.txt"
    alone, longer = test_pairs(options.data)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        print(f"{place}: {len(alone) + len(longer):,} sources to translate", flush=True)
        translator = Translator.from_preset(place)
        targets = translator.translate([source for source, _ in alone])
        targets += translator.translate([source for source, _ in longer], max_length=LONGEST)
        write_lines(file, targets)
    return list(read_lines(file))


def trained(name, options):
    """Returns the directories of a model's finished runs, by seed.

    A run is finished if its translations exist. Those of a named model may come from another folder.
    """
    files = (options.output / "translations").glob("*.txt")
    matches = [re.match(rf"{name}_seed(\d+)-", file.name) for file in files]
    seeds = sorted({int(match[1]) for match in matches if match})
    folders = [options.output / f"{name}_seed{seed}" for seed in seeds]
    return [folder for folder in folders if folder.exists()]


def compare(options):
    """Scores all finished runs and the named models, and draws BLEU by length."""
    alone, longer = test_pairs(options.data)
    sources, references = map(list, zip(*alone, *longer, strict=True))
    groups = {f"{name} ({paper})": trained(name, options) for name, (paper, _, _) in MODELS.items()}
    groups = {label: places for label, places in groups.items() if places}
    groups |= {str(place): [place] for place in options.others}
    rows, by_length = [], {}
    for label, places in groups.items():
        outputs = [translations(place, options) for place in places]
        scores = [score_translations(output[: len(alone)], references[: len(alone)]) for output in outputs]
        by_length[label] = bleu_by_length(sources, outputs[0], references)
        rows.append((label, Translator.from_preset(places[0]), scores))
    if not rows:
        raise KerasZooError(f"{options.output}: no finished run, and no model is named")
    text = table(rows, by_length)
    (options.output / "lineage.md").write_text(text, encoding="utf-8")
    picture = options.output / "by_length.png"
    length_plot(by_length, picture, f"BLEU of captions alone and joined by 2 to {max(TESTED_JOINED)}")
    print(f"\n{text}\n{picture} shows BLEU against the length of the source")


def table(rows, by_length):
    """Formats the comparison as Markdown: size, training, scores, and BLEU by words of the source.

    Args:
        rows: list of `(label, translator, scores)` with the scores of each seed.
        by_length: dict from labels to buckets, of the first seed.
    """
    ranges = [bucket.label for bucket in next(iter(by_length.values()))]
    head = ["model", "parameters", "target tokens seen", "seeds", "BLEU", "lower-cased", "chrF2"]
    head += [f"{label} words" for label in ranges]
    lines = [head, ["---"] * len(head)]
    for label, translator, scores in rows:
        seen = translator.metrics.get("training", {}).get("target_tokens")
        figures = [
            [getattr(one, kind).score for one in scores] for kind in ("bleu", "bleu_lowercased", "chrf")
        ]
        lines.append(
            [
                label,
                f"{translator.model.count_params() / 1e6:.2f} M",
                f"{seen / 1e6:.1f} M" if seen else "unknown",
                str(len(scores)),
                *map(mean_and_deviation, figures),
                *(f"{bucket.bleu.score:.1f} ± {bucket.margin:.1f}" for bucket in by_length[label]),
            ]
        )
    buckets, one = by_length[rows[0][0]], rows[0][2][0]
    counts = ", ".join(f"{bucket.label}: {bucket.sentences:,}" for bucket in buckets)
    signatures = {score.signature for score in (one.bleu, one.bleu_lowercased, one.chrf)}
    return "\n".join(
        [
            *(f"| {' | '.join(cells)} |" for cells in lines),
            "",
            f"{one.sentences:,} sentences; ± is the standard deviation of the seeds. Columns by words of the "
            f"source include joined captions ({counts}) and use the first seed, ± half of a 95 % interval.",
            "Signatures: " + ", ".join(f"`{signature}`" for signature in sorted(signatures)) + "; by length "
            f"`{buckets[0].bleu.signature}`.\n",
        ]
    )


def main():
    """Runs the command."""
    options = arguments()
    (train if options.command == "train" else compare)(options)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

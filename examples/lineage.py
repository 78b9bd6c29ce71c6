"""The translation models of the papers side by side: one table, and BLEU against the length of the source.

    python examples/lineage.py --data multi30k --train     # trains the six recipes, then scores their models
    python examples/lineage.py --data multi30k runs/multi30k_cho runs/multi30k_rnnsearch
    python examples/lineage.py --test test.tsv tatoeba_en_de_rnnsearch tatoeba_en_de_transformer

`--data` is a folder of Multi30k: train.en.gz, train.de.gz, val..., test_2016_flickr... `--train` runs the
recipes examples/recipes/multi30k_*.yaml in the order of the papers, about half an hour each on 2 cores, and
leaves out what has been run to its end before. `lineage.md` and `by_length.png` come out in `--output`.

Multi30k's test set has captions of 4 to 34 words, half of them below 12: too short for what the papers say,
that a fixed vector loses long sentences and attention does not. So the figures by length are of the test set
and of the same captions joined by two, three and four: sources of up to 70 words, no part of which is harder
than before. A model trained on single captions has hardly seen a text go on after a full stop, though (13
captions of 29,000), and falls on joined ones with attention, too: the Transformer of the recipe from 36 BLEU
up to 10 words to 10 from 31 words on, by the first 100 sentences. For what the papers say, `--train --join`:
it trains on captions joined like that, each once an epoch; then neither length nor full stops are new.
"""

import argparse
import itertools
import os
from pathlib import Path

import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
from keraszoo import Translator
from keraszoo.errors import KerasZooError, PresetError
from keraszoo.evaluation import bleu_by_length, score_translations
from keraszoo.plots import length_plot
from keraszoo.saving import model_directory
from keraszoo.tasks.recipe import Recipe
from keraszoo.tasks.recipe_run import run_recipe
from keraszoo.text.parallel import read_pairs

RECIPES = Path(__file__).parent / "recipes"
RUNS = "../../runs"  # as the recipes write it
ORDER = ("cho", "sutskever", "simplified", "rnnsearch", "luong", "transformer")
PAPERS = {
    "RNNEncDec": "Cho 2014",
    "DeepLSTM": "Sutskever 2014",
    "SimplifiedRNNSearch": "no gates",
    "RNNSearch": "Bahdanau 2015",
    "LuongNMT": "Luong 2015",
    "Transformer": "Vaswani 2017",
}
SIZES = (1, 2, 3, 4)  # captions in a group
LONGEST = 60 * max(SIZES)  # subwords that a translation of a group may have


def arguments():
    """What stands on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="directories of translators, or names of shipped ones")
    parser.add_argument("--data", type=Path, help="folder of Multi30k")
    parser.add_argument("--test", nargs="+", help="another test set: one file with tabs, or two files")
    parser.add_argument("--train", action="store_true", help="train the recipes, and score their models, too")
    parser.add_argument("--join", action="store_true", help="train them on joined captions")
    parser.add_argument("--seed", type=int, default=1, help="of the training")
    parser.add_argument("--limit", type=int, help="so many sentences of the test set; all by default")
    parser.add_argument("--output", type=Path, default=Path("runs/lineage"))
    options = parser.parse_args()
    if not options.models and not options.train:
        parser.error("expected directories of models, or --train")
    if options.data is None and (options.train or not options.test):
        parser.error("expected --data, or --test without --train")
    return options


def main():
    """Trains if asked to, translates, scores, draws."""
    options = arguments()
    trained = [train(name, options) for name in ORDER] if options.train else []
    translators = {place: Translator.from_preset(place) for place in [*trained, *options.models]}
    files = options.test or [options.data / f"test_2016_flickr.{language}.gz" for language in ("en", "de")]
    test = list(read_pairs(*files))[: options.limit]
    longer = [pair for size in SIZES[1:] for pair in joined(test, [size])]
    sources, references = map(list, zip(*test, *longer, strict=True))

    rows, by_length = [], {}
    for place, translator in translators.items():
        print(f"{place}: {len(sources):,} sources to translate", flush=True)
        found = translator.translate(sources[: len(test)])
        scores = score_translations(found, references[: len(test)])
        found += translator.translate(sources[len(test) :], max_length=LONGEST)
        label = label_of(place, translators)
        by_length[label] = bleu_by_length(sources, found, references)
        rows.append((label, translator, scores))

    options.output.mkdir(parents=True, exist_ok=True)
    text = table(rows, by_length)
    (options.output / "lineage.md").write_text(text, encoding="utf-8")
    picture = options.output / "by_length.png"
    length_plot(by_length, picture, f"BLEU of sentences alone and joined by 2 to {max(SIZES)}")
    print(f"\n{text}\n{picture} shows BLEU against the length of the source")


def joined(pairs, sizes):
    """Neighbouring pairs as one, in whole groups whose sizes run through `sizes` again and again."""
    pairs = iter(pairs)
    for size in itertools.cycle(sizes):
        group = list(itertools.islice(pairs, size))
        if len(group) < size:
            return
        yield tuple(" ".join(side) for side in zip(*group, strict=True))


def train(name, options):
    """Runs a recipe, unless that has been done; returns the directory of its model."""
    kind = f"{'_joined' if options.join else ''}{f'_seed{options.seed}' if options.seed != 1 else ''}"
    os.environ["MULTI30K"] = str(options.data.resolve())
    changes = [f"training.seed={options.seed}", f"output={RUNS}/multi30k_{name}{kind}"]
    if options.join:
        for part, file in (("train", "train"), ("validation", "val")):
            texts = [options.data / f"{file}.{language}.gz" for language in ("en", "de")]
            tsv = f"{RUNS}/multi30k_joined/{file}.tsv"
            write_joined(texts, RECIPES / tsv)
            changes.append(f"data.{part}={{tsv: {tsv}}}")
    recipe = Recipe.read(RECIPES / f"multi30k_{name}.yaml", changes)
    try:
        finished = "test" in model_directory.read_directory(recipe.output).metrics
    except PresetError:
        finished = False
    if not finished:
        run_recipe(recipe)
    return recipe.output


def write_joined(files, path):
    """A file of tabs with each pair once, in groups of one to four."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{source}\t{target}\n" for source, target in joined(read_pairs(*files), SIZES))
    path.write_text("".join(lines), encoding="utf-8")


def label_of(place, translators):
    """The model and its paper; of several of a kind, with the directory."""
    kinds = {other: type(translator.model).__name__ for other, translator in translators.items()}
    label = f"{kinds[place]} ({PAPERS[kinds[place]]})"
    return label if list(kinds.values()).count(kinds[place]) == 1 else f"{label}, {Path(place).name}"


def table(rows, by_length):
    """The lineage in Markdown: size, training, scores, and BLEU by words of the source."""
    ranges = [bucket.label for bucket in next(iter(by_length.values()))]
    head = ["model", "parameters", "target tokens seen", "BLEU", "lower-cased", "chrF2"]
    head += [f"{label} words" for label in ranges]
    lines = [head, ["---"] * len(head)]
    for label, translator, scores in rows:
        seen = translator.metrics.get("training", {}).get("target_tokens")
        lines.append(
            [
                label,
                f"{translator.model.count_params() / 1e6:.2f} M",
                f"{seen / 1e6:.1f} M" if seen else "unknown",
                *(f"{score.score:.2f}" for score in (scores.bleu, scores.bleu_lowercased, scores.chrf)),
                *(f"{bucket.bleu.score:.1f} ± {bucket.margin:.1f}" for bucket in by_length[label]),
            ]
        )
    counts = ", ".join(f"{bucket.label}: {bucket.sentences:,}" for bucket in by_length[rows[0][0]])
    signatures = {score.signature for score in (scores.bleu, scores.bleu_lowercased, scores.chrf)}
    return "\n".join(
        [
            *(f"| {' | '.join(cells)} |" for cells in lines),
            "",
            f"{scores.sentences:,} sentences; by words of the source, joined ones among them: {counts}.",
            "Signatures: " + ", ".join(f"`{signature}`" for signature in sorted(signatures)) + "; by length "
            f"`{by_length[label][0].bleu.signature}`, with 95 % intervals.\n",
        ]
    )


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

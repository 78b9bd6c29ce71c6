"""Trains taggers on five corpora of named entities, and measures each part of a tagger on one of them.

    python experiments/entities.py prepare DATA            # writes runs/entities/bc5cdr/train.tsv and so on
    python experiments/entities.py train --vectors english_words     # both taggers, all corpora, 3 seeds
    python experiments/entities.py train --vectors biomedical_words --corpora bc5cdr --models ladder --seeds 1
    python experiments/entities.py table                # all finished runs, as Markdown
    python experiments/entities.py calibration english_entities runs/entities/english/test_wikigold.tsv

DATA holds the corpora as their publishers distribute them. experiments/entity_corpora.py lists the files, and
has the rules by which `english/` joins the general corpora under the labels PER, LOC, ORG and MISC.
experiments/word_vectors.py trains the vectors, also on the training parts of these corpora.

A stopped run resumes, and a finished run is not repeated. RESULTS.md has the scores.
"""

import argparse
import dataclasses
import json
import os
import statistics
from pathlib import Path

from entity_corpora import FOLDS, prepare, read, relabel, spans_of

from keraszoo.errors import KerasZooError
from keraszoo.recipes.runs import read_recipe, run_recipe
from keraszoo.recipes.seeds import mean_and_deviation
from keraszoo.text.tag_schemes import spans

RECIPES = Path(__file__).parent / "recipes"
CORPORA = ("bc5cdr", "ncbi_disease", "wnut17", "btc", "wikigold")
SCORES = {"f1": "F1, strict", "f1_default": "F1, default", "f1_seen": "seen", "f1_unseen": "unseen"}

# The parts of a tagger, added one at a time: the recipe and the changes to it.
LADDER = {
    "gru": ("attention", {"name": "recurrent", "preset": "plain"}),
    "attention": ("attention", {}),
    "attention_scaled": ("attention", {"overrides": {"context": "scaled"}}),
    "attention_concat": ("attention", {"overrides": {"context": "concat"}}),
    "both_directions": ("attention", {"overrides": {"context": "concat", "bidirectional": True}}),
    "characters": (
        "attention",
        {"overrides": {"context": "concat", "bidirectional": True, "characters": "cnn", "casing_dim": 8}},
    ),
    "crf": ("attention", {"preset": "bidirectional"}),
    "strong": ("strong", {}),
    "subwords": ("strong", {"overrides": {"subword_buckets": 32749}}),
    "self_attention": ("strong", {"overrides": {"subword_buckets": 32749, "attention_heads": 4}}),
}


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/entities"), help="corpora and runs")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("data", type=Path)
    training = commands.add_parser("train")
    training.add_argument("--vectors", required=True, help="a file, a directory or an included name")
    training.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    training.add_argument("--models", nargs="+", choices=["ladder", *LADDER], default=["attention", "strong"])
    training.add_argument("--seeds", type=int, default=3)
    commands.add_parser("table")
    calibration = commands.add_parser("calibration")
    calibration.add_argument("model")
    calibration.add_argument("data", type=Path, help="a tagged file")
    calibration.add_argument("--corpus", help="of a tagger of several corpora")
    return parser.parse_args()


def train(options):
    """Trains the requested taggers; finishes one seed before the next."""
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

    models = list(LADDER) if "ladder" in options.models else options.models
    vectors = Path(options.vectors)
    os.environ["VECTORS"] = str(vectors.resolve() if vectors.exists() else vectors)
    for seed in range(1, options.seeds + 1):
        for corpus in options.corpora:
            for place in [f"wikigold/{i + 1}" for i in range(FOLDS)] if corpus == "wikigold" else [corpus]:
                for model in models:
                    os.environ["CORPUS"] = str((options.output / place).resolve())
                    output = (options.output / place / f"{model}_seed{seed}").resolve()
                    print(output, flush=True)
                    recipe, changes = LADDER[model]
                    changes = [f"model.{key}={json.dumps(value)}" for key, value in changes.items()]
                    changes += [f"training.seed={seed}", f"output={json.dumps(str(output))}"]
                    run_recipe(read_recipe(RECIPES / f"entities_{recipe}.yaml", changes))


def table(output):
    """Prints all finished runs as Markdown: mean and standard deviation over the seeds."""
    lines = [["corpus", "tagger", "seeds", *SCORES.values(), "training, s"]]
    lines.append(["---"] * len(lines[0]))
    for corpus in CORPORA:
        for model in LADDER:
            seeds = {}
            for file in output.glob(f"{corpus}/**/{model}_seed*/metrics.json"):
                figures = json.loads(file.read_text(encoding="utf-8"))
                if "test" in figures:
                    seeds.setdefault(file.parent.name, []).append(figures)
            whole = [runs for runs in seeds.values() if len(runs) == (FOLDS if corpus == "wikigold" else 1)]
            if whole:
                cells = [over_seeds(whole, "test", key, "score") for key in SCORES]
                seconds = statistics.fmean(run["training"]["seconds"] for runs in whole for run in runs)
                lines.append([corpus, model, str(len(whole)), *cells, f"{seconds:.0f}"])
    print("\n".join(f"| {' | '.join(cells)} |" for cells in lines))


def score_file(tag, file):
    """Scores what a function predicts for a tagged file, without labels that the file does not have."""
    from keraszoo.evaluation import score_tags

    sentences = [sentence for sentence in read(file) if sentence.tokens]
    labels = {label: label for sentence in sentences for label, *_ in spans_of(sentence)}
    pairs = zip(sentences, tag([sentence.tokens for sentence in sentences]), strict=True)
    predicted = [relabel(dataclasses.replace(sentence, tags=tags), labels).tags for sentence, tags in pairs]
    return score_tags([sentence.tags for sentence in sentences], predicted)


def calibrate(options):
    """Prints the expected calibration error of the entities of a tagged file, and the precision by bin."""
    from keraszoo import EntityTagger
    from keraszoo.evaluation import expected_calibration_error, reliability

    sentences = [sentence for sentence in read(options.data) if sentence.tokens]
    tagger = EntityTagger.from_preset(options.model, options.corpus)
    tagged = tagger.tag_tokens_details([s.tokens for s in sentences])
    probabilities, right = [], []
    labels = {span.label for sentence in sentences for span in spans_of(sentence)}
    for sentence, answer in zip(sentences, tagged, strict=True):
        gold = set(spans_of(sentence))
        for span in spans(answer.tags, "IOB2"):
            if span.label not in labels:  # as in `score_file`
                continue
            probabilities.append(float(answer.probabilities[span.start : span.end].min()))
            right.append(span in gold)
    bins = reliability(probabilities, right)
    print(f"{len(right):,} entities, expected calibration error {expected_calibration_error(bins):.4f}")
    for group in bins:
        if group.count:
            bounds = f"{group.low:.1f} to {group.high:.1f}"
            print(f"  {bounds}: {group.count:6,} entities, {group.accuracy:.1%} right")


def over_seeds(seeds, *keys):
    """Formats mean ± standard deviation over the seeds; folds of a seed are averaged first."""
    values = []
    for figures in seeds:
        for key in keys:
            figures = [figure[key] for figure in figures]
        figures = [figure for figure in figures if figure is not None]  # no such entities in this test set
        if not figures:
            return "-"
        values.append(statistics.fmean(figures))
    return mean_and_deviation(values)


def main():
    """Runs the command."""
    options = arguments()
    if options.command == "prepare":
        prepare(options.data, options.output)
    elif options.command == "train":
        train(options)
    elif options.command == "calibration":
        calibrate(options)
    else:
        table(options.output)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

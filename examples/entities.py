"""Trains taggers on five corpora of named entities, and measures each part of a tagger on one of them.

    python examples/entities.py prepare DATA            # writes runs/entities/bc5cdr/train.tsv and so on
    W=runs/entities/words.bin
    python examples/entities.py train --vectors $W      # both taggers, all corpora, 3 seeds
    python examples/entities.py train --vectors $W --corpora bc5cdr --models ladder --seeds 1
    python examples/entities.py table                # all finished runs, as Markdown

DATA holds the corpora as their publishers distribute them: bio_bc5cdr/ and bio_ncbi_disease/ (train.tsv,
devel.tsv, test.tsv), wnut17/ (train.conll, dev.conll, test.conll), btc/ (a.conll to h.conll) and wikigold/
(wikigold.conll). Each file may end in .gz. The Broad Twitter Corpus is split as usual: section f is the test
set, the second half of h the validation set, the first half of h and the other sections the training set.
Wikigold has no official split: its documents are split into five folds; each fold is the test set once, and a
tenth of the other documents is the validation set.

`english/` joins the three general corpora under the labels PER, LOC, ORG and MISC (WNUT17's corporations and
groups become ORG, its products and works MISC; Twitter has no MISC), with the first fold of Wikigold. The
shipped tagger is trained on it. Its test set is written as a whole and by corpus.

The vectors are trained on free text and on the training files, with ten copies of the biomedical ones because
no other text has their words (`{,,}` in bash repeats a word):

    python examples/free_text.py DATA runs/entities
    cd runs/entities
    keraszoo vectors train novels.txt.gz ... {wnut17,btc}/train.tsv \\
        {bc5cdr,ncbi_disease}/train.tsv{,,,,,,,,,} --epochs 3 --output words.bin

A stopped run resumes, and a finished run is not repeated. RESULTS.md has the scores.
"""

import argparse
import dataclasses
import json
import os
import statistics
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.tasks.recipe_runs import read_recipe, run_recipe
from keraszoo.tasks.seeds import mean_and_deviation
from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import write_lines

RECIPES = Path(__file__).parent / "recipes"
PARTS = ("train", "validation", "test")
BIO = ("train", "devel", "test")  # file names of the biomedical corpora
FOLDS = 5
CORPORA = ("bc5cdr", "ncbi_disease", "wnut17", "btc", "wikigold")
GENERAL = {
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
    "product": "MISC",
    "creative-work": "MISC",
}
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
    "vectors_trained": ("strong", {"overrides": {"train_vectors": True}}),
}


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/entities"), help="corpora and runs")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("data", type=Path)
    training = commands.add_parser("train")
    training.add_argument("--vectors", type=Path, required=True)
    training.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    training.add_argument("--models", nargs="+", choices=["ladder", *LADDER], default=["attention", "strong"])
    training.add_argument("--seeds", type=int, default=3)
    commands.add_parser("table")
    return parser.parse_args()


def prepare(data, output):
    """Writes each corpus as three column files in IOB2."""
    corpora = dict(read_parts(data))
    corpora["english"] = joined(corpora["wnut17"], corpora["btc"], corpora["wikigold/1"])
    for name, parts in corpora.items():
        for part, sentences in parts.items():
            file = output / name / f"{part}.tsv"
            file.parent.mkdir(parents=True, exist_ok=True)
            write_lines(file, column_lines(sentences))
        print(name, *(f"{len(sentences):,} {part}" for part, sentences in parts.items()), sep="  ")


def read_parts(data):
    """Yields the name of each corpus or fold and its sentences by part."""
    for name, folder in (("bc5cdr", "bio_bc5cdr"), ("ncbi_disease", "bio_ncbi_disease")):
        yield name, {part: read(data / folder / f"{file}.tsv") for part, file in zip(PARTS, BIO, strict=True)}
    files = zip(PARTS, ("train", "dev", "test"), strict=True)
    yield "wnut17", {part: read(data / "wnut17" / f"{file}.conll") for part, file in files}
    sections = {section: read(data / "btc" / f"{section}.conll") for section in "abeghf"}
    half = len(sections["h"]) // 2
    train = [sentence for section in "abeg" for sentence in sections[section]] + sections["h"][:half]
    yield "btc", {"train": train, "validation": sections["h"][half:], "test": sections["f"]}
    sentences = read(data / "wikigold" / "wikigold.conll")
    documents = {}
    for sentence in sentences:
        documents.setdefault(sentence.document, []).append(sentence)
    for fold in range(FOLDS):
        parts = {part: [] for part in PARTS}
        for number, document in enumerate(documents.values()):
            rest = "validation" if number // FOLDS % 10 == fold else "train"
            parts["test" if number % FOLDS == fold else rest].extend(document)
        yield f"wikigold/{fold + 1}", parts


def joined(wnut17, btc, wikigold):
    """Joins three corpora under the labels of the last; adds the test set of each."""
    wnut17 = {part: [general(sentence) for sentence in some] for part, some in wnut17.items()}
    parts = {part: [*wnut17[part], *btc[part], *wikigold[part]] for part in PARTS}
    by_corpus = {"wnut17": wnut17, "btc": btc, "wikigold": wikigold}
    return parts | {f"test_{name}": corpus["test"] for name, corpus in by_corpus.items()}


def general(sentence):
    """Maps the labels of a WNUT17 sentence to PER, LOC, ORG and MISC."""
    tags = [tag if tag == "O" else f"{tag[:2]}{GENERAL[tag[2:]]}" for tag in sentence.tags]
    return dataclasses.replace(sentence, tags=tuple(tags))


def read(path):
    """Reads the sentences of a file or of its `.gz` version."""
    for file in (path, Path(f"{path}.gz")):
        if file.exists():
            return read_columns(file).sentences
    raise DataError("no such file", path)


def train(options):
    """Trains the requested taggers; finishes one seed before the next."""
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

    models = list(LADDER) if "ladder" in options.models else options.models
    os.environ["VECTORS"] = str(options.vectors.resolve())
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
    else:
        table(options.output)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

"""Named entities in five corpora, and what each part of a tagger is worth on one of them.

    python examples/entities.py prepare DATA            # writes runs/entities/bc5cdr/train.tsv and so on
    W=runs/entities/words.bin
    python examples/entities.py train --vectors $W      # both taggers, all corpora, 3 seeds
    python examples/entities.py train --vectors $W --corpora bc5cdr --models ladder --seeds 1
    python examples/entities.py table                # what has been trained so far, as Markdown

DATA has the corpora as their publishers give them: bio_bc5cdr/ and bio_ncbi_disease/ (train.tsv, devel.tsv,
test.tsv), wnut17/ (train.conll, dev.conll, test.conll), btc/ (a.conll to h.conll) and wikigold/
(wikigold.conll), each file also as .gz. Of the Broad Twitter Corpus section f is the test and the second half
of h validates, as is usual; the first half of h is trained on with the other sections. Wikigold has no parts:
its documents are dealt into five folds, each the test once, and a tenth of the rest validates.

`english/` is the three general corpora as one, with the labels PER, LOC, ORG and MISC (WNUT17's corporations
and groups are ORG, its products and works MISC; Twitter's MISC have no tags), and the first fold of Wikigold:
for the tagger that ships. Its test is there as a whole and by corpus.

Vectors are learnt from free text and from the training files, those of the biomedical corpora ten times each
(`{,,}` is bash for a word repeated), since no other text has their words:

    python examples/free_text.py DATA runs/entities
    cd runs/entities
    keraszoo vectors train novels.txt.gz ... {wnut17,btc}/train.tsv \\
        {bc5cdr,ncbi_disease}/train.tsv{,,,,,,,,,} --epochs 3 --output words.bin

A run that was stopped goes on where it was, and one that is finished is not made again. The scores are in
RESULTS.md.
"""

import argparse
import dataclasses
import json
import os
import statistics
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.tasks.recipe_tasks import read_recipe, run
from keraszoo.tasks.seeds import mean_and_deviation
from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import write_lines

RECIPES = Path(__file__).parent / "recipes"
PARTS = ("train", "validation", "test")
BIO = ("train", "devel", "test")  # what the biomedical corpora call them
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

# The parts of a tagger, one after the other: the recipe, and what is changed in it.
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
    """What stands on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/entities"), help="of corpora and runs")
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
    """Writes each corpus as three files of columns, in IOB2."""
    corpora = dict(read_parts(data))
    corpora["english"] = joined(corpora["wnut17"], corpora["btc"], corpora["wikigold/1"])
    for name, parts in corpora.items():
        for part, sentences in parts.items():
            file = output / name / f"{part}.tsv"
            file.parent.mkdir(parents=True, exist_ok=True)
            write_lines(file, column_lines(sentences))
        print(name, *(f"{len(sentences):,} {part}" for part, sentences in parts.items()), sep="  ")


def read_parts(data):
    """Yields the name of each corpus, or fold, with its sentences by part."""
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
    """Three corpora as one with the labels of the last; the test also by corpus."""
    wnut17 = {part: [general(sentence) for sentence in some] for part, some in wnut17.items()}
    parts = {part: [*wnut17[part], *btc[part], *wikigold[part]] for part in PARTS}
    by_corpus = {"wnut17": wnut17, "btc": btc, "wikigold": wikigold}
    return parts | {f"test_{name}": corpus["test"] for name, corpus in by_corpus.items()}


def general(sentence):
    """A sentence with the labels of WNUT17 as PER, LOC, ORG and MISC."""
    tags = [tag if tag == "O" else f"{tag[:2]}{GENERAL[tag[2:]]}" for tag in sentence.tags]
    return dataclasses.replace(sentence, tags=tuple(tags))


def read(path):
    """The sentences of a file, or of the same with `.gz`."""
    for file in (path, Path(f"{path}.gz")):
        if file.exists():
            return read_columns(file).sentences
    raise DataError("no such file", path)


def train(options):
    """Runs all that is asked for, seed by seed, so that each seed is whole before the next begins."""
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
                    run(read_recipe(RECIPES / f"entities_{recipe}.yaml", changes))


def table(output):
    """What has been trained, in Markdown: mean and standard deviation over the seeds."""
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
    """A figure of each seed, the mean of its folds, as text: their mean ± standard deviation."""
    values = []
    for figures in seeds:
        for key in keys:
            figures = [figure[key] for figure in figures]
        figures = [figure for figure in figures if figure is not None]  # where there is nothing to find
        if not figures:
            return "-"
        values.append(statistics.fmean(figures))
    return mean_and_deviation(values)


def main():
    """Does what the command line says."""
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

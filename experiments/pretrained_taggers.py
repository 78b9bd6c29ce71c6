"""Compares taggers over a pretrained encoder with those over word vectors: F1, speed, size, time of training.

    python experiments/pretrained_taggers.py train DATA --backbone FOLDER --results FILE.jsonl
    python experiments/pretrained_taggers.py speed --results FILE.jsonl                 # nothing else running
    python experiments/pretrained_taggers.py final DATA --results FILE.jsonl            # once, at the end
    python experiments/pretrained_taggers.py table --results FILE.jsonl

DATA holds the corpora as their publishers distribute them; the splits are those of experiments/entities.py.
Every configuration is trained on the same sentences: all of a corpus, or as many as have 200,000 words.
`english` is the union of the general corpora, whose taggers are scored on text that nothing was trained on.

One row of (corpus, configuration, seed) is appended to the results when it is finished, and not repeated; a
stopped run resumes. Runs with other results files can train side by side; `speed` then measures the words per
second again, one saved tagger after the other.

The corpus of `final` was named before anything was trained: FIN3, loan agreements (ner_sec/fin3.test.tsv),
scored for LOC and ORG. No setting was chosen by it, and it is no part of the mean.
"""

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path

RECIPES = Path(__file__).parent / "recipes"
CORPORA = {  # training part, validation part, test parts
    "wnut17": ("wnut17/train", "wnut17/validation", ["wnut17/test"]),
    "ncbi_disease": ("ncbi_disease/train", "ncbi_disease/validation", ["ncbi_disease/test"]),
    "btc": ("btc/train", "btc/validation", ["btc/test"]),
    "bc5cdr": ("bc5cdr/train", "bc5cdr/validation", ["bc5cdr/test"]),
    "gmb": ("english/train_gmb", "english/validation_gmb", ["english/test_gmb"]),
    "english": (
        "english/train",
        "english/validation",
        [f"english/test_{name}" for name in ("uner_ewt", "uner_pud", "worldwide")],
    ),
}
BIOMEDICAL = ("bc5cdr", "ncbi_disease")
TESTS = {  # in the table
    "wnut17/test": "WNUT17",
    "ncbi_disease/test": "NCBI-disease",
    "btc/test": "BTC",
    "bc5cdr/test": "BC5CDR",
    "gmb/test_gmb": "Meaning Bank",
    "english/test_uner_ewt": "EWT",
    "english/test_uner_pud": "PUD",
    "english/test_worldwide": "newswire",
}
CONFIGURATIONS = {  # the recipe, the changes to it, and the name in the table
    "attention": ("attention", [], "attention"),
    "strong": ("strong", [], "strong"),
    "frozen": ("pretrained", ["model.overrides.train_backbone=false"], "MiniLM, frozen"),
    "lora": ("pretrained", ["model.lora_rank=8"], "MiniLM, LoRA of rank 8"),
    "tuned": ("pretrained", [], "MiniLM, fine-tuned"),
}
FINAL = "ner_sec/fin3.test.tsv"
MOST_WORDS = 200_000  # of a training part
TIMED = 300  # sentences


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training, fast, final, table = map(commands.add_parser, COMMANDS)
    for command in (training, final):
        command.add_argument("data", type=Path)
    for command in (training, fast, final):
        command.add_argument("--runs", type=Path, default=Path("runs/pretrained_taggers"))
    for command in (training, fast, final, table):
        command.add_argument("--results", type=Path, default=Path("runs/pretrained_taggers.jsonl"))
    training.add_argument("--backbone", required=True, help="as in a recipe")
    training.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    training.add_argument("--configurations", nargs="+", choices=CONFIGURATIONS, default=list(CONFIGURATIONS))
    training.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    return parser.parse_args()


def rows_of(results):
    """The finished rows: dict of (corpus, configuration, seed) -> row."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["corpus"], row["configuration"], row["seed"]): row for row in rows}


def write_rows(results, rows):
    """Replaces the rows of a file."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows.values())
    results.write_text(text, encoding="utf-8")


def sampled(source, target, most=MOST_WORDS):
    """Writes sentences of a tagged file in random order up to this many words, the same in every call."""
    from entity_corpora import read

    from keraszoo.text.columns import column_lines
    from keraszoo.text.lines import write_lines

    sentences, kept, words = read(source), [], 0
    if sum(len(sentence.tokens) for sentence in sentences) <= most:
        kept = sentences
    else:
        random.Random(0).shuffle(sentences)
        while words < most:
            kept.append(sentences[len(kept)])
            words += len(kept[-1].tokens)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_lines(target, column_lines(kept))


def train(options):
    """Trains what is not finished; all configurations of a corpus and a seed before the next corpus."""
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines

    parts = options.runs / "parts"
    if not (parts / "english" / "train.tsv").exists():
        from entity_corpora import prepare

        prepare(options.data, parts)
    for seed in options.seeds:
        for corpus in options.corpora:
            for configuration in options.configurations:
                if (corpus, configuration, seed) not in rows_of(options.results):
                    row = train_one(options, parts, corpus, configuration, seed)
                    options.results.parent.mkdir(parents=True, exist_ok=True)
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                    print(json.dumps(row), flush=True)


def train_one(options, parts, corpus, configuration, seed):
    """Trains a tagger, scores it, and returns its row."""
    from entities import score_file

    from keraszoo.recipes.runs import read_recipe, run_recipe
    from keraszoo.tasks.export import megabytes

    train_part, validation, tests = CORPORA[corpus]
    place = options.runs.resolve() / corpus
    if not (place / "train.tsv").exists():
        sampled(parts / f"{train_part}.tsv", place / "train.tsv")
        sampled(parts / f"{validation}.tsv", place / "validation.tsv")
        sampled(parts / f"{tests[0]}.tsv", place / "test.tsv", most=float("inf"))
    os.environ |= {
        "CORPUS": str(place),
        "BACKBONE": options.backbone,
        "VECTORS": "biomedical_words" if corpus in BIOMEDICAL else "english_words",
    }
    name, changes, _ = CONFIGURATIONS[configuration]
    output = place / f"{configuration}_seed{seed}"
    file = RECIPES / f"entities_{name}.yaml"
    changes = [*changes, f"training.seed={seed}", f"output={json.dumps(str(output))}"]
    tagger = run_recipe(read_recipe(file, changes))
    scores = {Path(test).name: score_file(tagger.tag_tokens, parts / f"{test}.tsv") for test in tests}
    return {
        "corpus": corpus,
        "configuration": configuration,
        "seed": seed,
        "f1": {test: score.f1.score for test, score in scores.items()},
        "validation_f1": tagger.metrics["validation"]["val_f1"],
        "epochs": tagger.recipe["training"]["epochs"],
        "training_seconds": tagger.metrics["training"]["seconds"],
        "words_per_second": round(words_per_second(tagger, place / "test.tsv")),
        "megabytes": round(megabytes(output), 1),
    }


def speed(options):
    """Measures the words per second of all finished rows again, and stores them."""
    import keraszoo.cli.quiet  # noqa: F401 - TensorFlow, without its log lines
    from keraszoo import EntityTagger

    rows = rows_of(options.results)
    for (corpus, configuration, seed), row in rows.items():
        place = options.runs / corpus
        tagger = EntityTagger.from_preset(place / f"{configuration}_seed{seed}")
        row["words_per_second"] = round(words_per_second(tagger, place / "test.tsv"))
        print(corpus, configuration, seed, row["words_per_second"], flush=True)
    write_rows(options.results, rows)


def words_per_second(tagger, file):
    """Words per second of a tagger on the first sentences of a file, after a warm-up."""
    from entity_corpora import read

    sentences = [sentence.tokens for sentence in read(file)[:TIMED]]
    tagger.tag_tokens(sentences[:50])
    started = time.perf_counter()
    tagger.tag_tokens(sentences)
    return sum(map(len, sentences)) / (time.perf_counter() - started)


def table(results):
    """Prints the finished rows as Markdown, and writes them next to their file as `results/` stores a table.

    Cells are means and standard deviations over the seeds; speed and time are those of all corpora.
    """
    from keraszoo.recipes.seeds import mean_and_deviation

    rows = rows_of(results).values()
    lines, means = [], {}
    for name, (*_, title) in CONFIGURATIONS.items():
        own = [row for row in rows if row["configuration"] == name]
        if own:
            scores = [scores_of(own, *test.split("/")) for test in TESTS]
            if all(scores):
                means[title] = statistics.fmean(map(statistics.fmean, scores))
            last = [row["f1"]["fin3"] for row in own if "fin3" in row["f1"]]
            *cells, fin3 = [mean_and_deviation(some) if some else "" for some in (*scores, last)]
            mean = f"{means[title]:.2f}" if title in means else ""
            lines.append([title, len({row["seed"] for row in own}), *cells, mean, fin3, *costs(own)])
    columns = ["tagger", "seeds", *TESTS.values(), "mean", "FIN3", "words/s", "MB", "training, s"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |")
    for title, mean in means.items():
        if "strong" in means and title != "strong":
            gain = mean - means["strong"]
            print(f"{title}: {gain:+.2f} F1 over the strong tagger, the mean of the test sets")
    content = {"command": "python experiments/pretrained_taggers.py table", "columns": columns, "rows": lines}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    results.with_suffix(".table.json").write_text(f"{text}\n", encoding="utf-8")


def scores_of(rows, corpus, test):
    """The F1 of every seed on a test set."""
    return [row["f1"][test] for row in rows if row["corpus"] == corpus]


def costs(rows):
    """Words per second and megabytes, the means of all rows; seconds of training all corpora, of a seed."""
    seeds = len({row["seed"] for row in rows})
    means = [statistics.fmean(row[key] for row in rows) for key in ("words_per_second", "megabytes")]
    return [f"{value:,.0f}" for value in (*means, sum(row["training_seconds"] for row in rows) / seeds)]


def final(options):
    """Scores the taggers of `english` on the corpus that was named before the training, and stores the F1."""
    from entities import score_file
    from entity_corpora import read, relabel

    from keraszoo import EntityTagger
    from keraszoo.text.columns import column_lines
    from keraszoo.text.lines import write_lines

    file, rows = options.runs / "final.tsv", rows_of(options.results)
    labels = {"LOC": "LOC", "ORG": "ORG"}
    write_lines(file, column_lines(relabel(s, labels) for s in read(options.data / FINAL)))
    for (corpus, configuration, seed), row in rows.items():
        if corpus == "english":
            tagger = EntityTagger.from_preset(options.runs / corpus / f"{configuration}_seed{seed}")
            row["f1"]["fin3"] = score_file(tagger.tag_tokens, file).f1.score
            print(f"{configuration} {seed} {row['f1']['fin3']:.2f}", flush=True)
    write_rows(options.results, rows)


COMMANDS = {"train": train, "speed": speed, "final": final, "table": lambda options: table(options.results)}

if __name__ == "__main__":
    chosen = arguments()
    COMMANDS[chosen.command](chosen)

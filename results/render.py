"""Renders the tables of README.md and RESULTS.md from `results/*.json`, and the cards of the included models.

    python results/render.py

A table stands between `<!-- table NAME -->` and `<!-- end -->`; `TABLES` says what it shows, otherwise it is
the file of that name. A test fails if a page differs from what this script would write.
"""

import json
import re
import subprocess
import sys

from measure import FOLDER, read

ROOT = FOLDER.parent
PAGES = ("README.md", "RESULTS.md")
PLACE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
CAPTIONS = "Multi30k test_2016_flickr, out of its domain"
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def markdown(columns, rows):
    """Returns a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def stored(name):
    """Returns the table that a file with `rows` holds."""
    table = read(name)
    return markdown(table["columns"], table["rows"])


def score(name, entry, figure, digits=2):
    """Formats a score of an included model, or an empty cell where it was not measured."""
    figures = read(name).get(entry, {}).get("figures", {})
    value = figures.get(figure)
    value = value.get("score") if isinstance(value, dict) else value
    return "" if value is None else f"{value:.{digits}f}"


def translators():
    """The included translators on held-out sentences, and on captions."""
    columns = ["model", "from, to", "parameters", "BLEU", "chrF2", "BLEU, all references", "BLEU on captions"]
    rows = []
    for name in sorted(path.stem for path in FOLDER.glob("tatoeba_*.json")):
        config = json.loads((ROOT / "pretrained" / name / "config.json").read_text(encoding="utf-8"))
        source, target = (LANGUAGES[code] for code in config["about"]["languages"])
        scores = [
            score(name, "test", key, 1 if key == "chrf" else 2)
            for key in ("bleu", "chrf", "bleu_all_references")
        ]
        size = f"{config['about']['parameters'] / 1e6:.1f} M"
        rows.append([f"`{name}`", f"{source}, {target}", size, *scores, score(name, CAPTIONS, "bleu")])
    return markdown(columns, rows)


def copies():
    """How many unseen names and numbers the translators from English copy."""
    rows = []
    for name in sorted(path.stem for path in FOLDER.glob("tatoeba_en_*.json")):
        figures = read(name)["names and numbers copied"]["figures"]
        rows.append([f"`{name}`", *(figures[key] for key in ("firstnames", "surnames_us", "numbers"))])
    return markdown(["model", "first names", "surnames", "numbers of 2 to 5 digits"], rows)


def included_taggers():
    """The included taggers on each test set."""
    columns = ["model", "test set", "strict F1", "precision", "recall", "by label"]
    rows = []
    for name in ("english_entities", "biomedical_entities"):
        for entry, content in read(name).items():
            f1 = content["figures"]["f1"]
            labels = sorted(content["figures"]["labels"], key=lambda label: -label["score"])
            by_label = ", ".join(f"{label['name']} {label['score']:.1f}" for label in labels if label["gold"])
            rows.append(
                [
                    f"`{name}`",
                    entry,
                    *(f"{f1[key]:.2f}" for key in ("score", "precision", "recall")),
                    by_label,
                ]
            )
    return markdown(columns, rows)


def words():
    """The included word vectors."""
    keys = ("wordsim_353", "wordsim_353_known", "analogies", "analogies_known")
    rows = []
    for name in ("english_words", "biomedical_words"):
        figures = read(name)["words"]["figures"]
        first, *rest = (figures[key] for key in keys)
        rows.append(
            [f"`{name}`", f"{figures['words']:,}", f"{first:.3f}", *(f"{value:.1f} %" for value in rest)]
        )
    columns = [
        "vectors",
        "words",
        "WordSim-353 (Spearman)",
        "of its pairs known",
        "analogies",
        "of them known",
    ]
    return markdown(columns, rows)


def babi():
    """Memory networks, next to the paper's."""
    joint = read("babi_memory_network")["test error, per cent"]["figures"]
    failed = str(sum(value > 5 for key, value in joint.items() if key != "mean"))
    table, rows = read("babi"), []
    for task, own, paper, paper_joint in table["rows"]:
        ours = (
            failed
            if task.startswith("tasks")
            else f"{joint['mean']:.2f}"
            if task == "mean"
            else f"{joint[f'task {task}']:.1f}"
        )
        rows.append([task, own, paper, ours, paper_joint])
    return markdown(
        ["task", "one network per task", "paper", "`babi_memory_network`", "paper, one network"], rows
    )


def headline():
    """Five results."""
    (mean, *_) = (row for row in read("multi30k")["rows"] if row[0].startswith("mean"))
    tagger, other = "english_entities", "biomedical_entities"
    newswire, three = (score(tagger, entry, "f1") for entry in ("newswire", "newswire, PER, LOC and ORG"))
    context = score(other, "BC5CDR, context of 10", "f1")
    paper = read("babi")["rows"][-2][-1]
    rows = [
        [
            "translation, en-de",
            "Multi30k test_2016_flickr, lower-cased",
            "Transformer, 2.1 M, trained on its captions, three seeds",
            f"{mean[2]} BLEU",
        ],
        [
            "translation, en-de",
            "Tatoeba, 2,000 held-out sentences",
            "`tatoeba_en_de_transformer`",
            f"{score('tatoeba_en_de_transformer', 'test', 'bleu')} BLEU",
        ],
        [
            "named entities",
            "newswire that it was not trained on",
            f"`{tagger}`",
            f"{newswire} F1 ({three} for PER, LOC and ORG alone)",
        ],
        [
            "named entities",
            "BC5CDR",
            f"`{other}`",
            f"{score(other, 'BC5CDR', 'f1')} F1 ({context} with `--context 10`)",
        ],
        [
            "question answering",
            "bAbI, 20 tasks",
            "`babi_memory_network`",
            f"{score('babi_memory_network', 'test error, per cent', 'mean')} % errors (paper: {paper})",
        ],
    ]
    return markdown(["task", "data", "model", "score"], rows)


TABLES = {it.__name__: it for it in (headline, translators, copies, included_taggers, words, babi)}


def rendered(page):
    """Returns the text of a page with its tables."""

    def table(match):
        before, name, after = match.groups()
        return before + (TABLES[name]() if name in TABLES else stored(name)) + after

    return PLACE.sub(table, page.read_text(encoding="utf-8"))


def main():
    """Writes the pages, then the cards."""
    for name in PAGES:
        page = ROOT / name
        page.write_text(rendered(page), encoding="utf-8")
    subprocess.run([sys.executable, ROOT / "pretrained" / "write_cards.py"], check=True)


if __name__ == "__main__":
    main()

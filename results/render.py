"""Renders the tables of `PAGES` from `results/*.json`, and the cards of the included models.

    python results/render.py

A table stands below `<!-- table NAME -->`. `TABLES` says what it shows; by default it is the file NAME.json.
A test fails if a page differs from what this script would write.
"""

import json
import re
import subprocess
import sys

from measure import FOLDER, read

ROOT = FOLDER.parent
PAGES = ("README.md", "RESULTS.md", "docs/lineage.md", "docs/sharing.md")
PLACE = re.compile(r"(<!-- table (\w+) -->\n)((?:\|.*\n)*)")
CAPTIONS = "Multi30k test_2016_flickr, out of its domain"
SCORES = {"bleu": 2, "chrf": 1, "bleu_all_references": 2}  # and their digits
OPTIONS = {", PER, LOC and ORG": "`--labels PER,LOC,ORG`", ", context of 10": "`--context 10`"}
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
    """The included translators on held-out sentences and captions, and the names and numbers they copy."""
    columns = ["model", "from, to", "parameters", "BLEU", "chrF2", "BLEU, all references", "BLEU on captions"]
    columns += ["copied: first names of 50", "surnames of 50", "numbers of 100"]
    rows = []
    for name in sorted(path.stem for path in FOLDER.glob("tatoeba_*.json")):
        config = json.loads((ROOT / "pretrained" / name / "config.json").read_text(encoding="utf-8"))
        source, target = (LANGUAGES[code] for code in config["about"]["languages"])
        size = f"{config['about']['parameters'] / 1e6:.1f} M"
        scores = [score(name, "test", key, digits) for key, digits in SCORES.items()]
        copied = read(name).get("names and numbers copied", {}).get("figures", {})
        counts = [copied.get(key, "").partition(" ")[0] for key in ("firstnames", "surnames_us", "numbers")]
        rows.append(
            [f"`{name}`", f"{source}, {target}", size, *scores, score(name, CAPTIONS, "bleu"), *counts]
        )
    return markdown(columns, rows)


def included_taggers():
    """The included taggers on each test set; a variant of an entry stands in its row."""
    columns = ["model", "test set", "strict F1", "precision", "recall", "by label", "F1 with an option"]
    rows = []
    for name in ("english_entities", "english_entities_minilm", "biomedical_entities"):
        entries = read(name)
        for entry, content in entries.items():
            if any(entry.endswith(ending) for ending in OPTIONS):
                continue
            f1 = content["figures"]["f1"]
            labels = sorted(content["figures"]["labels"], key=lambda label: -label["score"])
            by_label = ", ".join(f"{label['name']} {label['score']:.1f}" for label in labels if label["gold"])
            variants = ((entry + ending, option) for ending, option in OPTIONS.items())
            others = [f"{score(name, key, 'f1')} {option}" for key, option in variants if key in entries]
            figures = [f"{f1[key]:.2f}" for key in ("score", "precision", "recall")]
            rows.append([f"`{name}`", entry, *figures, by_label, ", ".join(others)])
    return markdown(columns, rows)


def taggers():
    """Taggers of single corpora: F1 and, in brackets, F1 of unseen entities."""
    rows = {}
    for corpus, tagger, f1, _, unseen in read("taggers")["rows"]:
        rows.setdefault(corpus, {})[tagger] = f"{f1} ({unseen})"
    kinds = ("attention", "subwords", "self_attention")
    return markdown(
        ["corpus", *(f"`{kind}`" for kind in kinds)],
        [[corpus, *(cells[kind] for kind in kinds)] for corpus, cells in rows.items()],
    )


def multi30k():
    """Means over seeds and ensembles; the file has the seeds too."""
    table, rows, what = read("multi30k"), [], ""
    for row in table["rows"]:
        if row[0].startswith("mean"):
            rows.append([f"{what}, mean of three seeds", *row[1:]])
        elif row[0].startswith("ensemble"):
            rows.append(row)
        elif ", seed 1" in row[0]:
            what = row[0].removesuffix(", seed 1")
    return markdown(table["columns"], rows)


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
    """Errors of memory networks, next to the paper's; a column for each task."""
    joint = read("babi_memory_network")["test error, per cent"]["figures"]
    tasks, own, paper, paper_joint = zip(*read("babi")["rows"], strict=True)
    ours = [f"{joint[f'task {task}']:.1f}" for task in tasks[:-2]]
    ours += [f"{joint['mean']:.2f}", sum(value > 5 for key, value in joint.items() if key != "mean")]
    rows = [["one network per task", *own], ["paper", *paper]]
    rows += [["`babi_memory_network`", *ours], ["paper, one network", *paper_joint]]
    return markdown(["task", *tasks], rows)


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


RENDERERS = (headline, translators, included_taggers, words, multi30k, taggers, babi)
TABLES = {it.__name__: it for it in RENDERERS}


def rendered(page):
    """Returns the text of a page with its tables."""

    def table(match):
        place, name, _ = match.groups()
        return place + (TABLES[name]() if name in TABLES else stored(name))

    return PLACE.sub(table, page.read_text(encoding="utf-8"))


def main():
    """Writes the pages, then the cards."""
    for name in PAGES:
        page = ROOT / name
        page.write_text(rendered(page), encoding="utf-8")
    subprocess.run([sys.executable, ROOT / "pretrained" / "write_cards.py"], check=True)


if __name__ == "__main__":
    main()

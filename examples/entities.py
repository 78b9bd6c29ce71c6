"""Trains taggers on five corpora of named entities, and measures each part of a tagger on one of them.

    python examples/entities.py prepare DATA            # writes runs/entities/bc5cdr/train.tsv and so on
    python examples/entities.py train --vectors english_words     # both taggers, all corpora, 3 seeds
    python examples/entities.py train --vectors biomedical_words --corpora bc5cdr --models ladder --seeds 1
    python examples/entities.py table                # all finished runs, as Markdown
    python examples/entities.py score english_entities  # the shipped tagger on each general test set
    python examples/entities.py calibration english_entities runs/entities/english/test_wikigold.tsv

DATA holds the corpora as their publishers distribute them: bio_bc5cdr/ and bio_ncbi_disease/ (train.tsv,
devel.tsv, test.tsv), wnut17/ (train.conll, dev.conll, test.conll), btc/ (a.conll to h.conll), wikigold/
(wikigold.conll) and so on. Each file may end in .gz. The Broad Twitter Corpus is split as usual: section f is
the test set, the second half of h the validation set, the first half of h and the other sections the training
set. Wikigold has no official split: its documents are split into five folds; each fold is the test set once,
and a tenth of the other documents is the validation set.

`english/` joins the general corpora under the labels PER, LOC, ORG and MISC: the three above (the first fold
of Wikigold), the Groningen Meaning Bank (ner_gmb/), the development part of Universal NER's English Web
Treebank (ner_uner/) and loan agreements (ner_sec/). The shipped tagger is trained on it. The table `LABELS`
maps the labels; two corpora need more:

- `gpe` of the Meaning Bank is mostly "Iraqi" or "Palestinians", which are MISC in Wikigold, and sometimes a
  country. A name is LOC if the corpus labels it `geo` at least as often as `gpe`, otherwise MISC.
- Its persons begin with titles ("President", "Mr."), those of most corpora do not: `TITLES` are cut off, also
  in the training parts of the others but the Web Treebank. The entity after a title alone ("Mr." `per`,
  "Putin" `org`) is a person.
- A third of its training sentences is split at hyphens and full stops, as some corpora are.
- The persons of the loan agreements are "Borrower" and "Lender", so their PER becomes O.

Its parts are also written by corpus. Three test sets are never trained on: the test parts
of Universal NER, and newswire from around the world (ner_worldwide/), scored for PER, LOC and ORG alone.

examples/word_vectors.py trains the vectors, also on the training parts of these corpora.

A stopped run resumes, and a finished run is not repeated. RESULTS.md has the scores.
"""

import argparse
import dataclasses
import itertools
import json
import os
import re
import statistics
from collections import Counter
from pathlib import Path

from keraszoo.errors import DataError, KerasZooError
from keraszoo.tasks.recipe_runs import read_recipe, run_recipe
from keraszoo.tasks.seeds import mean_and_deviation
from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import read_lines, write_lines
from keraszoo.text.tag_schemes import Span, spans, tags_of

RECIPES = Path(__file__).parent / "recipes"
PARTS = ("train", "validation", "test")
BIO = ("train", "devel", "test")  # file names of the biomedical corpora
FOLDS = 5
CORPORA = ("bc5cdr", "ncbi_disease", "wnut17", "btc", "wikigold")
LABELS = {  # of the general corpora; a label that is not here becomes O
    **{label: label for label in ("PER", "LOC", "ORG", "MISC")},
    **{"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"},  # WNUT17
    **{"product": "MISC", "creative-work": "MISC"},
    **{"per": "PER", "geo": "LOC", "org": "ORG", "art": "MISC", "eve": "MISC", "nat": "MISC"},
    "nationality": "MISC",  # this one is of `meaning_bank`
    **{"Person": "PER", "Location": "LOC", "Organization": "ORG"},  # newswire from around the world
}
TITLES = set(
    "mr mrs ms dr sir prof president vice prime minister ministers general gen secretary senator sen foreign "
    "interior defense deputy chancellor justice finance former special envoy ambassador governor mayor "
    "speaker premier chief commander colonel col lieutenant lt judge sheikh crown prince princess king "
    "queen".split()
)
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
    "vectors_trained": ("strong", {"overrides": {"train_vectors": True}}),
}


def arguments():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/entities"), help="corpora and runs")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("data", type=Path)
    training = commands.add_parser("train")
    training.add_argument("--vectors", required=True, help="a file, a directory or a shipped name")
    training.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    training.add_argument("--models", nargs="+", choices=["ladder", *LADDER], default=["attention", "strong"])
    training.add_argument("--seeds", type=int, default=3)
    commands.add_parser("table")
    scoring = commands.add_parser("score")
    scoring.add_argument("models", nargs="+")
    scoring.add_argument("--corpora", nargs="+", default=[None], help="of taggers of several corpora")
    calibration = commands.add_parser("calibration")
    calibration.add_argument("model")
    calibration.add_argument("data", type=Path, help="a tagged file")
    calibration.add_argument("--corpus", help="of a tagger of several corpora")
    calibration.add_argument("--picture", type=Path)
    return parser.parse_args()


def prepare(data, output):
    """Writes each corpus as three column files in IOB2."""
    output.mkdir(parents=True, exist_ok=True)
    corpora = dict(read_parts(data))
    corpora["english"] = joined(corpora, data, output)
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


def joined(corpora, data, output):
    """Joins the general corpora under four labels; adds all test sets."""
    general = {name: corpora[name] for name in ("wnut17", "btc")} | {"wikigold": corpora["wikigold/1"]}
    general["gmb"] = meaning_bank(read(data / "ner_gmb" / "gmb.tsv", tag_column=1))
    web, web_test, news = (
        read(data / "ner_uner" / f"en_{name}.iob2") for name in ("ewt-ud-dev", "ewt-ud-test", "pud-ud-test")
    )
    worldwide = without_comments(data / "ner_worldwide" / "worldwide.iob2.gz", output / "worldwide.tsv")
    loans = read(data / "ner_sec" / "fin5.train.tsv")
    trains = {"web": web, "loans": [relabel(sentence, {"LOC": "LOC", "ORG": "ORG"}) for sentence in loans]}
    for name, corpus in general.items():
        trains[name] = [without_titles(relabel(sentence)) for sentence in corpus["train"]]
    parts = {
        "train": [sentence for corpus in trains.values() for sentence in corpus],
        "validation": [relabel(s) for corpus in general.values() for s in corpus["validation"]],
        **{f"train_{name}": corpus for name, corpus in trains.items()},
        **{f"validation_{name}": list(map(relabel, c["validation"])) for name, c in general.items()},
    }
    tests = {name: corpus["test"] for name, corpus in general.items()}
    tests |= {"uner_ewt": web_test, "uner_pud": news, "worldwide": worldwide}
    tests = {f"test_{name}": [relabel(sentence) for sentence in test] for name, test in tests.items()}
    own = [s for name in ("wnut17", "btc", "wikigold") for s in tests[f"test_{name}"]]
    return parts | {"test": own} | tests


def meaning_bank(sentences):
    """Splits the Groningen Meaning Bank, every 20th sentence for validation and the test; mends labels."""
    names = Counter(name_and_label(sentence, span) for sentence in sentences for span in spans_of(sentence))
    parts = {part: [] for part in PARTS}
    for number, sentence in enumerate(sentences):
        mended, titled = [], -1
        for span in spans_of(sentence):
            label = span.label
            if span.start == titled:
                label = "per"
            elif label == "gpe":
                name, _ = name_and_label(sentence, span)
                label = "geo" if names[name, "geo"] >= names[name, "gpe"] else "nationality"
            if label == "per" and all(map(is_title, sentence.tokens[span.start : span.end])):
                titled = span.end
            else:
                mended.append(span._replace(label=label))
        tags = tags_of(mended, len(sentence.tokens), "IOB2")
        sentence = without_titles(relabel(dataclasses.replace(sentence, tags=tags)))
        part = {0: "test", 1: "validation"}.get(number % 20, "train")
        if part == "train" and number % 3 == 0:
            sentence = split_at_marks(sentence)
        parts[part].append(sentence)
    return parts


def is_title(token):
    """Returns whether a token is a title, such as "Mr."."""
    return token.lower().rstrip(".") in TITLES


def without_titles(sentence):
    """Cuts titles off the beginning of persons."""
    mended = []
    for label, start, end in spans_of(sentence):
        while label == "PER" and start < end - 1 and is_title(sentence.tokens[start]):
            start += 1
        mended.append(Span(label, start, end))
    return dataclasses.replace(sentence, tags=tags_of(mended, len(sentence.tokens), "IOB2"))


def split_at_marks(sentence):
    """Splits tokens at hyphens and full stops, as some corpora do: "U.S.-led" becomes "U . S . - led"."""
    tokens, tags = [], []
    for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
        pieces = [piece for piece in re.split("([-.])", token) if piece]
        tokens += pieces
        tags += [tag] + [tag if tag == "O" else f"I-{tag[2:]}"] * (len(pieces) - 1)
    return dataclasses.replace(sentence, tokens=tuple(tokens), tags=tuple(tags))


def spans_of(sentence):
    """Returns the entities of a sentence."""
    return spans(sentence.tags, "IOB2")


def name_and_label(sentence, span):
    """Returns the words of an entity and its label."""
    return sentence.tokens[span.start : span.end], span.label


def relabel(sentence, labels=LABELS):
    """Maps the labels of a sentence; what the table does not name becomes O."""
    tags = (f"{tag[:2]}{labels[tag[2:]]}" if tag[2:] in labels else "O" for tag in sentence.tags)
    return dataclasses.replace(sentence, tags=tuple(tags))


def read(path, **options):
    """Reads the sentences of a file or of its `.gz` version."""
    for file in (path, Path(f"{path}.gz")):
        if file.exists():
            return read_columns(file, **options).sentences
    raise DataError("no such file", path)


def without_comments(path, output):
    """Writes the rows of a file that has comments, and reads them."""
    write_lines(output, (line for line in read_lines(path) if not line.startswith("# doc = ")))
    return read_columns(output, scheme="IOB2").sentences


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


def score(options):
    """Prints strict F1 of taggers on every general test set, without labels that the set does not have."""
    from keraszoo import EntityTagger

    files = sorted(options.output.glob("english/test_*.tsv"))
    print(f"| {' | '.join(['tagger', *(file.stem.removeprefix('test_') for file in files)])} |")
    print("|---" * (len(files) + 1) + "|")
    for model, corpus in itertools.product(options.models, options.corpora):
        tagger = EntityTagger.from_preset(model, corpus)
        cells = [f"{score_file(tagger.tag_tokens, file).f1.score:.2f}" for file in files]
        name = model if corpus is None else f"{model}, {corpus}"
        print(f"| {' | '.join([name, *cells])} |", flush=True)


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
    from keraszoo.plots import reliability_plot

    sentences = [sentence for sentence in read(options.data) if sentence.tokens]
    tagger = EntityTagger.from_preset(options.model, options.corpus)
    tagged = tagger.tag_tokens_details([s.tokens for s in sentences])
    probabilities, right = [], []
    for sentence, answer in zip(sentences, tagged, strict=True):
        gold = set(spans_of(sentence))
        for span in spans(answer.tags, "IOB2"):
            probabilities.append(float(answer.probabilities[span.start : span.end].min()))
            right.append(span in gold)
    bins = reliability(probabilities, right)
    print(f"{len(right):,} entities, expected calibration error {expected_calibration_error(bins):.4f}")
    for group in bins:
        if group.count:
            bounds = f"{group.low:.1f} to {group.high:.1f}"
            print(f"  {bounds}: {group.count:6,} entities, {group.accuracy:.1%} right")
    if options.picture:
        reliability_plot(bins, options.picture, f"{options.model}, {options.data.stem}")


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
    elif options.command == "score":
        score(options)
    elif options.command == "calibration":
        calibrate(options)
    else:
        table(options.output)


if __name__ == "__main__":
    try:
        main()
    except KerasZooError as error:
        raise SystemExit(str(error)) from None

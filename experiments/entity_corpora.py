"""The corpora of named entities, as `experiments/entities.py prepare` writes them: column files in IOB2.

They are read as their publishers distribute them: bio_bc5cdr/ and bio_ncbi_disease/ (train.tsv, devel.tsv,
test.tsv), wnut17/ (train.conll, dev.conll, test.conll), btc/ (a.conll and b, e, f, g, h), wikigold/
(wikigold.conll) and so on. Each file may end in .gz. The Broad Twitter Corpus is split as usual: section f
is the test set, the second half of h the validation set, the first half of h and the other sections the
training set. Wikigold has no official split: its documents are split into five folds; each fold is the test
set once, and a tenth of the other documents is the validation set.

`english/` joins the general corpora under the labels PER, LOC, ORG and MISC: the three above (the first fold
of Wikigold), the Groningen Meaning Bank (ner_gmb/), the development part of Universal NER's English Web
Treebank (ner_uner/) and loan agreements (ner_sec/). The included tagger is trained on it. The table `LABELS`
maps the labels; two corpora need more:

- `gpe` of the Meaning Bank is mostly "Iraqi" or "Palestinians", which are MISC in Wikigold, and sometimes a
  country. A name is LOC if the corpus labels it `geo` at least as often as `gpe`, otherwise MISC.
- Its persons begin with titles ("President", "Mr."), those of most corpora do not: `TITLES` are cut off, also
  in the training parts of the others but the Web Treebank. The entity after a title alone ("Mr." `per`,
  "Putin" `org`) is a person.
- A third of its training sentences is split at hyphens and full stops, as some corpora are.
- The persons of the loan agreements are "Borrower" and "Lender", so their PER becomes O.

Its parts are also written by corpus. Three test sets are never trained on: the test parts of Universal NER,
and newswire from around the world (ner_worldwide/), scored for PER, LOC and ORG alone.
"""

import dataclasses
import re
from collections import Counter
from pathlib import Path

from keraszoo.errors import DataError
from keraszoo.text.columns import column_lines, read_columns
from keraszoo.text.lines import read_lines, write_lines
from keraszoo.text.tag_schemes import Span, spans, tags_of

PARTS = ("train", "validation", "test")
BIO = ("train", "devel", "test")  # file names of the biomedical corpora
FOLDS = 5
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

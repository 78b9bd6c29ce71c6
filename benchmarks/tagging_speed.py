"""Measures training and tagging speed in words per second, and compares it with spaCy in the same run.

    python benchmarks/tagging_speed.py runs/entities/bc5cdr words.bin --spacy-python OTHER/bin/python

The folder has train.tsv and test.tsv, as experiments/entities.py makes them. spaCy (`pip install spacy`) may
be in another environment, whose Python is named. Each contestant trains in batches of about `--batch-words`
words and tags the test sentences, already split into words, one by one and 64 at a time. Contestants
alternate in each of `--windows` windows, so that a change in machine speed affects all of them. Compilation
and caches are warm before the clock runs. spaCy is `spacy.blank("en")` with its default `ner` (four
convolutions of 96 over hashed embeddings, transitions); keraszoo is the preset `strong` (BiLSTM of 200,
characters, CRF), the same with n-grams for words without a vector, and the plain attention tagger.

Prints one JSON line per window and contestant, and the ratios of the medians.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CONTESTANTS = ("spacy", "keraszoo strong", "keraszoo subwords", "keraszoo attention")
SENTENCES_ALONE = 300  # test sentences tagged one by one


def read(path):
    """Reads sentences of (word, IOB2 tag) without keraszoo, which spaCy's environment may lack."""
    sentences, rows = [], []
    for line in [*Path(path).read_text(encoding="utf-8").split("\n"), ""]:
        if line.strip():
            rows.append(line.split("\t"))
        elif rows:
            if rows[0][0] != "-DOCSTART-":
                sentences.append(rows)
            rows = []
    return sentences


def batches_of(sentences, words):
    """Makes batches of sentences of similar length with about `words` words."""
    batches, batch, count = [], [], 0
    for sentence in sorted(sentences, key=len):
        batch.append(sentence)
        count += len(sentence)
        if count >= words:
            batches.append(batch)
            batch, count = [], 0
    random.Random(0).shuffle(batches)
    return batches


class Spacy:
    """spaCy's tagger with its own initial values."""

    def __init__(self, name, folder, vectors, words):
        import spacy
        from spacy.tokens import Doc
        from spacy.training import Example, biluo_tags_to_spans, iob_to_biluo

        self.nlp, self.Doc = spacy.blank("en"), Doc
        self.nlp.add_pipe("ner")

        def example(sentence):
            reference = self.doc(sentence)
            reference.ents = biluo_tags_to_spans(reference, iob_to_biluo([tag for _, tag in sentence]))
            return Example(self.doc(sentence), reference)

        train = [
            [example(sentence) for sentence in batch]
            for batch in batches_of(read(folder / "train.tsv"), words)
        ]
        self.optimizer = self.nlp.initialize(lambda: [some for batch in train[:20] for some in batch])
        self.batches = train
        self.test = read(folder / "test.tsv")

    def doc(self, sentence):
        return self.Doc(self.nlp.vocab, words=[word for word, _ in sentence])

    def learn(self, batch):
        self.nlp.update(batch, sgd=self.optimizer, drop=0.1)
        return sum(len(some.reference) for some in batch)

    def tag(self, sentences, size):
        for _ in self.nlp.pipe([self.doc(sentence) for sentence in sentences], batch_size=size):
            pass


class Keraszoo:
    """One of keraszoo's taggers."""

    def __init__(self, name, folder, vectors, words):
        import keras

        from keraszoo import EntityTagger
        from keraszoo.text.columns import read_columns
        from keraszoo.text.word_vectors import WordVectors
        from keraszoo.training.adam import Adam
        from keraszoo.training.tag_batches import TagBatches, TaggedRows

        keras.utils.set_random_seed(1)
        kind, preset = ("attention", "base") if name == "attention" else ("recurrent", "strong")
        buckets = 32_749 if name == "subwords" else 0
        train, self.test = (read_columns(folder / f"{part}.tsv").sentences for part in ("train", "test"))
        vectors = WordVectors.read(vectors)
        self.tagger = EntityTagger.for_sentences(
            [*train, *self.test], vectors, kind, preset, subword_buckets=buckets
        )
        self.tagger.warm_up()
        self.model = self.tagger.model
        self.model.compile(Adam(0.004, global_clipnorm=5.0), jit_compile=False)
        plan = TagBatches(TaggedRows(train, self.tagger.vocabulary, self.model.features), words, shapes=None)
        self.batches = [(plan.batch(0, i), plan.real_tokens(0, i)) for i in range(len(plan))]

    def learn(self, batch):
        (features, tags, weights), words = batch
        self.model.train_on_batch(features, tags, sample_weight=weights)
        return words

    def tag(self, sentences, size):
        words = [list(sentence.tokens) for sentence in sentences]
        for first in range(0, len(words), size):
            self.tagger.tag_tokens(words[first : first + size])


def contestant(options):
    """Runs one contestant: prints one line of figures per input line."""
    kind, _, name = options.contestant.partition(" ")
    one = {"spacy": Spacy, "keraszoo": Keraszoo}[kind](
        name, options.folder, options.vectors, options.batch_words
    )
    place = 0

    def learn(seconds):
        nonlocal place
        words, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            words += one.learn(one.batches[place % len(one.batches)])
            place += 1
        return words / (time.perf_counter() - start)

    def tag(sentences, size):
        start = time.perf_counter()
        one.tag(sentences, size)
        words = sum(len(getattr(sentence, "tokens", sentence)) for sentence in sentences)
        return words / (time.perf_counter() - start)

    def figures():
        return {
            "training": learn(options.seconds),
            "tagging, 1": tag(one.test[:SENTENCES_ALONE], 1),
            "tagging, 64": tag(one.test, 64),
        }

    figures()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps({key: round(value) for key, value in figures().items()}), flush=True)


def main():
    """Starts the contestants and measures them in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("vectors", help="a file, a directory or a shipped name")
    parser.add_argument("--spacy-python", default=sys.executable)
    parser.add_argument("--batch-words", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=15, help="seconds of training per window")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        return contestant(options)
    running, windows = {}, {name: [] for name in CONTESTANTS}
    for name in CONTESTANTS:
        python = options.spacy_python if name == "spacy" else sys.executable
        command = [python, __file__, *sys.argv[1:], "--contestant", name]
        running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if running[name].stdout.readline() != "ready\n":
            raise SystemExit(f"{name} did not start")
    for window in range(options.windows):
        for name, process in running.items():
            process.stdin.write("\n")
            process.stdin.flush()
            windows[name].append(json.loads(process.stdout.readline()))
            print(json.dumps({"window": window, "contestant": name, **windows[name][-1]}), flush=True)
    for process in running.values():
        process.stdin.close()
        process.wait()
    for name in CONTESTANTS[1:]:
        for key in windows[name][0]:
            ours, theirs = (statistics.median(some[key] for some in windows[who]) for who in (name, "spacy"))
            print(f"{name}, {key}: {ours:,.0f} words/s, {ours / theirs:.2f} times spaCy's {theirs:,.0f}")


if __name__ == "__main__":
    main()

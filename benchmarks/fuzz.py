"""Reads damaged inputs with every reader; anything but a result or a KerasZooError of one line is a failure.

    python benchmarks/fuzz.py --inputs 10000 --seed 1
    python benchmarks/fuzz.py --only "recipe" "translate"

An input is a valid file with bytes changed, cut, repeated, or replaced by strange ones. The last one is a
line of 10 MB. A damaged model directory gets a manifest that fits, and what is loaded must answer, without
compiling.
Prints how many inputs each reader read and refused, and the longest time of one; exits with 1 after a
failure.
"""

import argparse
import contextlib
import functools
import os
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from keraszoo import EntityTagger, QuestionAnswerer, Translator
from keraszoo.errors import KerasZooError
from keraszoo.recipes.file import set_value
from keraszoo.recipes.runs import read_recipe
from keraszoo.saving import manifest as manifests
from keraszoo.saving.model_card import rewrite_card
from keraszoo.saving.model_facts import read_facts
from keraszoo.text.babi import read_questions
from keraszoo.text.lines import read_lines
from keraszoo.text.parallel import read_pairs
from keraszoo.text.subwords import Subwords
from keraszoo.text.tagged_corpus import TaggedSentence
from keraszoo.text.tagged_files import read_sentences, read_tagged
from keraszoo.text.tokens import sentence_tokens
from keraszoo.text.vector_files import read_vectors
from keraszoo.translation.lines import translate_lines

SLOW = 5.0  # seconds that no input may take
LARGE = 1 << 20  # KiB that an input may add to the memory of the process
HUGE = 10_000_000  # bytes of the last input
LONGEST = 2000  # characters that no message may have
STRANGE = (
    [
        b"\0",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\r",
        b"\x0b",
        b"\n\n",
        b"\t",
        b" ",
        b"!!int ''",
        b"&a *a",
    ]
    + [
        text.encode()
        for text in ("\u202e", "\u200b\u200d", "e" + "\u0301" * 50, "\u2028", "\U0001f600" * 9, "\u00a0")
    ]
    + [
        b"9" * 5000,
        b"-1",
        b"1e999",
        b"nan",
        b"[" * 500,
        b"{" * 500,
        b'"\\ud800"',
        b"1:59:59.5",
        b"a" * 5000,
        b"\x1f\x8b",
        "caf\u00e9".encode("latin-1"),
        "\u65e5\u672c".encode("shift-jis"),
        "Ada".encode("utf-16"),
    ]
)
TEXT = (
    "Two dogs run.\nDr. No's e-mail: a.b@c.org, U.S. 1,000.5!\n日本 \U0001f1e9\U0001f1ea caf\u00e9\n".encode()
)
COLUMNS = b"-DOCSTART- O\n\nAda B-PER\nLovelace I-PER\nmet O\n\nKurt B-PER\n. O\n"
SPANS = b'{"text": "Ada met Kurt.", "entities": [{"start": 0, "end": 3, "label": "PER"}]}\n' * 3
WORDS = b"3 2\nthe 0.5 -1.25\nof 1e-3 2\nand 3 4\n"
BINARY = b"2 2\n" + b"".join(word + b" " + struct.pack("<2f", 0.5, -2) + b"\n" for word in (b"the", b"of"))
RECIPE = b"data:\n  train: {tsv: pairs.tsv}\n  max_length: 30\ntraining: {seed: 3, epochs: 2}\noutput: out\n"
FACTS = b"small: {licence: mit, languages: [en, de], data: []}\n"
ALPHABET = ["one two three four five six", "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ .,!"] * 2
STORY = b"1 Mary went home.\n2 Where is Mary? \thome\t1\n"


class Failure(Exception):
    """An input that was neither read nor refused as it should be."""


def _read_override(path):
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    set_value({"training": {"seed": 1}}, text, {})


def _split(path):
    text = path.read_bytes().decode("utf-8", "replace")
    for tokens in sentence_tokens(text):
        for token in tokens:
            if text[token.start : token.end] != token.text:
                raise IndexError(f"{token} is not at its place")


def _train_subwords(path):
    text = path.read_bytes()
    text = text.decode("utf-8", "replace" if len(text) % 2 else "surrogateescape")
    subwords = Subwords.train([*text.split("\n"), *ALPHABET], vocabulary_size=80)
    subwords.decode(subwords.encode(["one two"]))


def _translate(path):
    """Translates the file as the command does, and its lines as Python strings, whatever their encoding."""
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    answers = [line for some in translate_lines(example("translation"), lines) for line in some]
    if len(answers) != len(lines) or any("\n" in answer for answer in answers):
        raise IndexError(f"{len(lines)} lines have {len(answers)} answers")
    list(translate_lines(example("translation"), read_lines(path)))


def _tag(path):
    texts = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    for text, tagged in zip(texts, example("tagging").tag_details(texts), strict=True):
        for part in (*tagged.tokens, *tagged.entities):
            if text[part.start : part.end] != part.text:
                raise IndexError(f"{part} is not at its place")
    example("tagging").tag_details(list(read_lines(path)))


@functools.cache
def example(kind):
    """A tiny object of a task, without training."""
    from keraszoo.models import MemoryNetwork, RNNSearch
    from keraszoo.search import SearchOptions
    from keraszoo.text.vocabulary import Vocabulary

    if kind == "question answering":
        words = Vocabulary(["mary", "went", "home"])
        return QuestionAnswerer(MemoryNetwork(4, width=2, memory_size=3), words)
    if kind == "tagging":
        tokens, tags = ("Ada", "met", "Kurt", "Gödel", "."), ("B-PER", "O", "B-PER", "I-PER", "O")
        return EntityTagger.for_sentences([TaggedSentence(tokens, tags)], configuration="tiny")
    subwords = Subwords.train(ALPHABET, vocabulary_size=60)
    options = SearchOptions(beam_width=2, max_length=4)
    return Translator(RNNSearch(60, embedding_dim=4, units=4), subwords, search=options)


@functools.cache
def directory_of(kind):
    """The directory of `example(kind)`, and the content of its files by name."""
    place = Path(tempfile.mkdtemp(), "model")
    example(kind).save_to_preset(place)
    return place, {file.name: file.read_bytes() for file in sorted(place.iterdir())}


def _read_model(kind, use, path):
    """Loads the directory with the damaged file in place of its own and a manifest that fits, and uses it."""
    place, files = directory_of(kind)
    try:
        shutil.copyfile(path, place / path.name)
        if path.name != manifests.MANIFEST:
            (place / manifests.MANIFEST).unlink()
            manifests.write_manifest(place, files.keys() - {manifests.MANIFEST})
        with _eagerly():
            use(place)
    finally:
        for name, content in files.items():
            (place / name).write_bytes(content)


@contextlib.contextmanager
def _eagerly():
    """Runs TensorFlow functions without tracing them, which would take most of the time of a loaded model."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def _models(kind, use):
    """The entry of `READERS` for damaged directories of a task."""
    return lambda: directory_of(kind)[1], functools.partial(_read_model, kind, use)


# For each reader: a valid content by file name, or a function that returns it, and a function of the path.
READERS = {
    "parallel text": ({"a.tsv": b"one two\teins zwei\nthree\tdrei\n"}, lambda path: list(read_pairs(path))),
    "columns": ({"a.conll": COLUMNS}, read_tagged),
    "JSON lines": ({"a.jsonl": SPANS}, read_tagged),
    "sentences": ({"a.txt": TEXT}, lambda path: list(read_sentences(path))),
    "word2vec text": ({"a.vec": WORDS}, read_vectors),
    "word2vec binary": ({"a.bin": BINARY}, read_vectors),
    "GloVe": ({"a.txt": WORDS[4:]}, lambda path: read_vectors(path, "glove")),
    "fastText": ({"a.vec": WORDS}, lambda path: read_vectors(path, "fasttext")),
    "recipe": ({"a.yaml": RECIPE}, read_recipe),
    "--set": ({"a.txt": b"training.optimizer={learning_rate: 1e-3, clipnorm: 1}"}, _read_override),
    "facts": ({"a.yaml": FACTS}, read_facts),
    "stories": ({"a.txt": STORY}, read_questions),
    "tokens": ({"a.txt": TEXT}, _split),
    "Subwords.train": ({"a.txt": TEXT}, _train_subwords),
    "translate": ({"a.txt": TEXT}, _translate),
    "tag": ({"a.txt": TEXT}, _tag),
    "card": _models("question answering", rewrite_card),
    "answerer": _models("question answering", QuestionAnswerer.from_preset),
    "translator": _models("translation", lambda place: Translator.from_preset(place).translate(["one two"])),
    "tagger": _models("tagging", lambda place: EntityTagger.from_preset(place).tag(["Ada met Kurt."])),
}
DIRECTORIES = ("answerer", "translator", "tagger")  # each input is a model that is built


def damaged(content, draw):
    """A copy of bytes with one to four changes, drawn by a `random.Random`."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        i, j = sorted(draw.randrange(len(content) + 1) for _ in range(2))
        change = draw.randrange(5)
        if change == 0 and content:
            content[min(i, len(content) - 1)] ^= 1 << draw.randrange(8)
        elif change == 1:
            del content[i:j]
        elif change == 2:
            content[i:i] = content[i:j] * draw.randint(1, 20)
        else:
            content[i : i if change == 3 else j] = draw.choice(STRANGE)
    return bytes(content)


def fuzz(name, inputs, seed, folder, huge=False):
    """Reads damaged inputs with one reader.

    Args:
        name: a key of `READERS`.
        inputs: their number.
        seed: of the first; each has its own.
        folder: where the inputs are written.
        huge: whether one more input has a line of 10 MB.

    Returns:
        `(read, refused, seconds)`: two counts, and the longest time of an input.

    Raises:
        Failure: an input failed; the message has its seed and the error.
    """
    contents, reader = READERS[name]
    contents = contents() if callable(contents) else contents
    counts, longest, before = [0, 0], 0.0, None
    for number in range(seed, seed + inputs + huge):
        draw = random.Random(f"{name} {number}")
        file = draw.choice(sorted(contents))
        path = Path(folder, file)
        if number == seed + inputs:
            line = contents[file].split(b"\n")[0] + b" "
            path.write_bytes(line * (HUGE // len(line)))
        else:
            path.write_bytes(damaged(contents[file], draw))
        started = time.process_time()
        try:
            reader(path)
            counts[0] += 1
        except KerasZooError as error:
            counts[1] += 1
            if len(str(error)) > LONGEST or "\n" in str(error):
                raise Failure(
                    f"{name}, seed {number}: a message of several or long lines: {error}"[:500]
                ) from None
        except Exception as error:
            raise Failure(f"{name}, seed {number}: {type(error).__name__}: {error}") from error
        seconds, peak = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = before or peak  # the first input imports
        if seconds > SLOW + (number == seed) * 60 or peak - before > LARGE:
            raise Failure(f"{name}, seed {number}: {seconds:.1f} s, {(peak - before) >> 10} MB")
        longest, before = max(longest, seconds * (number > seed)), peak
    return *counts, longest


def main():
    """Parses the command line and fuzzes every reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=READERS, default=[*READERS], metavar="READER")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # sources are cut
    failed = False
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            try:
                read, refused, longest = fuzz(name, arguments.inputs, arguments.seed, folder, huge=True)
                print(f"{name:16}{read:8,} read{refused:8,} refused, longest {longest:.3f} s", flush=True)
            except Failure as error:
                failed = True
                print(error, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

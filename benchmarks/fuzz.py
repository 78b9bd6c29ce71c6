"""Reads damaged inputs with every reader; anything but a result or a KerasZooError of one line is a failure.

    python benchmarks/fuzz.py --inputs 10000 --seed 1

An input is a valid file with bytes changed, cut, repeated, or replaced by strange ones. Prints, for each
reader, how many inputs were read and refused, and the longest time of one; exits with 1 after a failure.
"""

import argparse
import random
import struct
import sys
import tempfile
import time
from pathlib import Path

from keraszoo.errors import KerasZooError
from keraszoo.saving.model_facts import read_facts
from keraszoo.tasks.recipe_file import set_value
from keraszoo.tasks.recipe_runs import read_recipe
from keraszoo.text.babi import read_questions
from keraszoo.text.parallel import read_pairs
from keraszoo.text.tagged_files import read_sentences, read_tagged
from keraszoo.text.tokens import sentence_tokens
from keraszoo.text.vector_files import read_vectors

SLOW = 5.0  # seconds that no input may take
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


# For each reader: the ending of the file, a valid content, and a function of the path.
READERS = {
    "parallel text": (".tsv", b"one two\teins zwei\nthree\tdrei\n", lambda path: list(read_pairs(path))),
    "columns": (".conll", COLUMNS, read_tagged),
    "JSON lines": (".jsonl", SPANS, read_tagged),
    "sentences": (".txt", TEXT, lambda path: list(read_sentences(path))),
    "word2vec text": (".vec", WORDS, read_vectors),
    "word2vec binary": (".bin", BINARY, read_vectors),
    "GloVe": (".txt", WORDS[4:], lambda path: read_vectors(path, "glove")),
    "fastText": (".vec", WORDS, lambda path: read_vectors(path, "fasttext")),
    "recipe": (".yaml", RECIPE, read_recipe),
    "--set": (".txt", b"training.optimizer={learning_rate: 1e-3, clipnorm: 1}", _read_override),
    "facts": (".yaml", b"small: {licence: mit, languages: [en, de], data: []}\n", read_facts),
    "stories": (".txt", STORY, read_questions),
    "tokens": (".txt", TEXT, _split),
}


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


def fuzz(name, inputs, seed, folder):
    """Reads damaged inputs with one reader.

    Returns:
        `(read, refused, seconds)`: two counts, and the longest time of an input.

    Raises:
        Failure: an input failed; the message has its seed and the error.
    """
    ending, content, reader = READERS[name]
    path, counts, longest = Path(folder, f"input{ending}"), [0, 0], 0.0
    for number in range(seed, seed + inputs):
        path.write_bytes(damaged(content, random.Random(f"{name} {number}")))
        started = time.process_time()
        try:
            reader(path)
            counts[0] += 1
        except KerasZooError as error:
            counts[1] += 1
            if len(str(error)) > LONGEST or "\n" in str(error):
                raise Failure(f"{name}, seed {number}: a message of several or long lines: {error}") from None
        except Exception as error:
            raise Failure(f"{name}, seed {number}: {type(error).__name__}: {error}") from error
        longest = max(longest, time.process_time() - started)
        if longest > SLOW:
            raise Failure(f"{name}, seed {number}: {longest:.1f} s")
    return *counts, longest


def main():
    """Parses the command line and fuzzes every reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = False
    for name in READERS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                read, refused, longest = fuzz(name, arguments.inputs, arguments.seed, folder)
                print(f"{name:16}{read:8,} read{refused:8,} refused, longest {longest:.3f} s", flush=True)
            except Failure as error:
                failed = True
                print(error, flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

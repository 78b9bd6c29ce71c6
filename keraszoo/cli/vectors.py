"""The commands `keraszoo vectors`: learning word vectors, and looking at some."""

import json
import os
import sys
import time
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.errors import KerasZooError

app = typer.Typer(rich_markup_mode=None, help="Word vectors.")

Vectors = Annotated[
    str, Argument(metavar="VECTORS", help="word2vec, GloVe, fastText .vec, or a directory of ours.")
]
Format = Annotated[
    str, Option("--format", metavar="auto|word2vec|binary|glove|fasttext", help="Of the vectors.")
]
SkipDamaged = Annotated[
    bool, Option("--skip-damaged", help="Leave damaged rows out and count them, instead of failing.")
]
Backoff = Annotated[
    list[str] | None,
    Option("--backoff", metavar="NAME", help="exact, lower, capital, digits0, digits#, ...; repeatable."),
]
Kind = Annotated[str, Option("--kind", metavar="auto|text|columns|json|tagged", help="Of the files.")]
Rules = Annotated[
    str, Option("--rules", metavar="words|marks_apart|alphanumeric", help="By which text is cut into tokens.")
]


@app.callback()
def options():
    """Word vectors."""


@app.command()
def train(
    files: Annotated[list[str], Argument(metavar="FILES...", help="Text, columns or word/TAG; or gzip.")],
    output: Annotated[
        str, Option("--output", metavar="FILE", help="x.bin, x.txt, x.vec, .gz of each; or a directory.")
    ],
    width: Annotated[int, Option("--width", min=1, help="Numbers in a vector.")] = 200,
    algorithm: Annotated[str, Option("--algorithm", metavar="skip-gram|cbow")] = "skip-gram",
    window: Annotated[int, Option("--window", min=1, help="The farthest neighbour, in words.")] = 5,
    min_count: Annotated[int, Option("--min-count", min=1, help="Rarer words get no vector.")] = 2,
    negative: Annotated[int, Option("--negative", min=1, help="Words drawn against each pair.")] = 5,
    sample: Annotated[
        float, Option("--sample", min=0.0, help="Words of a larger share are thinned out.")
    ] = 1e-3,
    epochs: Annotated[int, Option("--epochs", min=1, help="Times the text is gone through.")] = 5,
    form: Annotated[
        str, Option("--form", metavar="NAME", help="How words are written: exact, digits0...")
    ] = "exact",
    seed: Annotated[int, Option("--seed", min=0, help="Of all that is random.")] = 1,
    workers: Annotated[int, Option("--workers", min=1, help="Threads; above 1 no two runs are alike.")] = 1,
    kind: Kind = "auto",
    rules: Rules = "words",
):
    """Learn word vectors from text by word2vec."""
    from keraszoo.text.vector_training import train_vectors

    _check_output(output)
    with console.results() as write:
        vectors, report = train_vectors(
            files, width, algorithm=algorithm, window=window, min_count=min_count, negative=negative,
            sample=sample, epochs=epochs, form=form, seed=seed, workers=workers, kind=kind, rules=rules,
            progress=_Progress(),
        )  # fmt: skip
        print(report, file=sys.stderr)
        _save(vectors, output)
        write([output])


@app.command()
def convert(
    vectors: Vectors,
    output: Annotated[
        str, Option("--output", metavar="FILE", help="x.bin, x.txt, x.vec, .gz of each; or a directory.")
    ],
    words: Annotated[
        int | None, Option("--words", min=1, help="Only the first so many, the most frequent ones.")
    ] = None,
    half: Annotated[bool, Option("--half", help="In a directory: numbers of half precision.")] = False,
    format: Format = "auto",
    skip_damaged: SkipDamaged = False,
):
    """Write vectors in another format, or fewer of them."""
    from keraszoo.text.word_vectors import WordVectors

    _check_output(output)
    if half and _file_format(output) is not None:
        raise KerasZooError(f"{output}: half precision is for a directory, a name without an ending")
    with console.results() as write:
        read = WordVectors.read(vectors, format, damaged="skip" if skip_damaged else "error")
        _save(read if words is None else read.first(words), output, "float16" if half else "float32")
        write([output])


@app.command()
def coverage(
    vectors: Vectors,
    corpora: Annotated[list[str], Argument(metavar="CORPUS...", help="Columns with tags, or text.")],
    backoff: Backoff = None,
    format: Format = "auto",
    skip_damaged: SkipDamaged = False,
    kind: Kind = "auto",
    rules: Rules = "words",
    as_json: Annotated[bool, Option("--json", help="As a JSON object a line.")] = False,
):
    """Say how much of a corpus has vectors: tokens, types, entity tokens, by back-off step."""
    from keraszoo.text.tagged_files import read_sentences
    from keraszoo.text.word_vectors import DEFAULT_BACKOFF, WordVectors, check_backoff

    backoff = check_backoff(backoff or DEFAULT_BACKOFF)
    sentences = {corpus: list(read_sentences(corpus, kind, rules)) for corpus in corpora}
    words = {word for some in sentences.values() for sentence in some for word in sentence.tokens}
    read = WordVectors.read(vectors, format, words, backoff, "skip" if skip_damaged else "error")
    with console.results() as write:
        for corpus, some in sentences.items():
            found = read.coverage(some, backoff)
            write([json.dumps({"corpus": corpus, **found.as_dict()}) if as_json else f"{corpus}\n{found}"])


@app.command()
def evaluate(
    vectors: Vectors,
    pairs: Annotated[
        str | None, Option("--pairs", metavar="FILE", help="word TAB word TAB judgement; WordSim-353.")
    ] = None,
    analogies: Annotated[
        str | None, Option("--analogies", metavar="FILE", help="Four words a line; Mikolov's of 2013.")
    ] = None,
    format: Format = "auto",
    as_json: Annotated[bool, Option("--json", help="As a JSON object.")] = False,
):
    """Say how well vectors agree with people on what is alike, and how many analogies they solve."""
    from keraszoo.text.vector_scores import score_vectors
    from keraszoo.text.word_vectors import WordVectors

    scores = score_vectors(WordVectors.read(vectors, format), pairs, analogies)
    with console.results() as write:
        if as_json:
            write([json.dumps(scores)])
        else:
            texts = {key: "-" if value is None else f"{value:.3f}" for key, value in scores.items()}
            write(f"{key:<20}{text:>8}" for key, text in texts.items())


@app.command()
def neighbours(
    vectors: Vectors,
    words: Annotated[list[str], Argument(metavar="WORD...")],
    count: Annotated[int, Option("--count", min=1, help="How many of each.")] = 10,
    backoff: Backoff = None,
    format: Format = "auto",
    skip_damaged: SkipDamaged = False,
):
    """Print the words with the nearest vectors, and their cosines."""
    from keraszoo.text.word_vectors import DEFAULT_BACKOFF, WordVectors, check_backoff

    backoff = check_backoff(backoff or DEFAULT_BACKOFF)
    read = WordVectors.read(vectors, format, damaged="skip" if skip_damaged else "error")
    with console.results() as write:
        for word in words:
            near = read.neighbours(word, count, backoff)
            write(f"{word}\t{other}\t{cosine:.4f}" for other, cosine in near)


class _Progress:
    """A line on stderr that counts up in a terminal; elsewhere a line for each tenth of the work."""

    def __init__(self):
        self.stage, self.tenth = None, 0
        self.started = self.last = time.monotonic()

    def __call__(self, stage, done, total):
        if stage != self.stage:  # it began when the one before ended
            self.stage, self.tenth, self.started = stage, 0, self.last
        self.last = time.monotonic()
        rate = done / max(self.last - self.started, 1e-3)
        tenth = 10 * done // total if total else 0
        share = f" of {total:,}" if total and stage == "learning" else ""
        line = f"{stage}: {done:,}{share} tokens, {rate:,.0f} tokens/s"
        if sys.stderr.isatty():
            print(f"\r{line}\x1b[K", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif tenth > self.tenth:
            print(line, file=sys.stderr, flush=True)
        self.tenth = tenth


def _check_output(output):
    """Before hours of work: a place that cannot be written to is found out at once."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise KerasZooError(f"{output}: there is no folder {folder} to write to")
    if _file_format(output) is None:
        from keraszoo.saving.model_directory import check_replaceable

        check_replaceable(output)
    elif os.path.isdir(output):
        raise KerasZooError(f"{output}: is a directory, and its name that of a file")


def _save(vectors, output, dtype="float32"):
    format = _file_format(output)
    if format is None:
        vectors.save(output, dtype)
    else:
        vectors.write(output, format)


def _file_format(output):
    """The format that the name of a file asks for; None for a name without an ending: a directory."""
    ending = os.path.splitext(output.removesuffix(".gz"))[1]
    formats = {".bin": "binary", ".txt": "word2vec", ".vec": "word2vec", "": None}
    if ending not in formats or (not ending and output.endswith(".gz")):
        raise KerasZooError(
            f"{output}: expected a name in .bin, .txt, .vec, or without an ending, got {ending!r}"
        )
    return formats[ending]

"""The commands `keraszoo subwords` and `keraszoo vectors`: train vocabularies, train and inspect vectors."""

import itertools
import json
import os
import sys
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.console import AsJson
from keraszoo.errors import KerasZooError
from keraszoo.messages import one_line

subwords = typer.Typer(rich_markup_mode="markdown", help="Train subword vocabularies.")
vectors = typer.Typer(rich_markup_mode="markdown", help="Train, convert and inspect word vectors.")

Vectors = Annotated[
    str,
    Argument(
        metavar="VECTORS",
        help="A word2vec, GloVe or fastText .vec file, a directory of vectors, or the name of included ones.",
    ),
]
Output = Annotated[str, Option("--output", metavar="FILE", help=".bin, .txt, .vec, also .gz; or a folder.")]
Format = Annotated[
    str, Option("--format", metavar="auto|word2vec|binary|glove|fasttext", help="Format of the vectors.")
]
Backoff = Annotated[
    list[str] | None,
    Option("--backoff", metavar="NAME", help="exact, lower, capital, digits0, digits#, ...; repeatable."),
]
Dtype = Annotated[
    str, Option("--dtype", metavar="float32|float16|int8", help="Numbers of a directory; files have float32.")
]
Kind = Annotated[str, Option("--kind", metavar="auto|text|columns|json|tagged", help="Kind of the files.")]
Rules = Annotated[
    str, Option("--rules", metavar="words|marks_apart|alphanumeric", help="How text is split into tokens.")
]


@subwords.command("train")
def train_subwords(
    files: Annotated[
        list[str], Argument(metavar="FILES", help="Text; in both languages for a joint vocabulary.")
    ],
    output: Annotated[str, Option(metavar="FILE", help="The sentencepiece model to write.")],
    vocabulary_size: Annotated[int, Option(min=8, help="Total number of ids.")] = 8000,
    model_type: Annotated[str, Option("--type", metavar="bpe|unigram", help="The algorithm.")] = "bpe",
    character_coverage: Annotated[float, Option(help="Share of the characters that get an id.")] = 1.0,
    normalization: Annotated[
        str, Option(metavar="nfc|nmt_nfkc", help="nfc keeps what a reader sees.")
    ] = "nfc",
):
    """Train a sentencepiece vocabulary on text files."""
    from keraszoo.text.lines import read_lines
    from keraszoo.text.subwords import Subwords

    console.check_output(output, folders=False)
    lines = itertools.chain.from_iterable(map(read_lines, files))
    options = vocabulary_size, model_type, character_coverage
    Subwords.train(lines, *options, normalization=normalization).save(output)
    with console.results() as write:
        write([output])
    console.hint("keraszoo", "train", "RECIPE", "--set", f"subwords.model={output}")


@vectors.command()
def train(
    files: Annotated[list[str], Argument(metavar="FILES", help="Text, columns or word/TAG, also gzipped.")],
    output: Output,
    width: Annotated[int, Option(min=1, help="Size of a vector.")] = 200,
    algorithm: Annotated[str, Option(metavar="skip-gram|cbow", help="The algorithm.")] = "skip-gram",
    window: Annotated[int, Option(min=1, help="Maximum distance of a context word.")] = 5,
    min_count: Annotated[int, Option(min=1, help="Rarer words get no vector.")] = 2,
    negative: Annotated[int, Option(min=1, help="Negative samples per pair.")] = 5,
    sample: Annotated[float, Option(min=0.0, help="More frequent words are subsampled.")] = 1e-3,
    epochs: Annotated[int, Option(min=1, help="Passes over the text.")] = 5,
    form: Annotated[str, Option(metavar="NAME", help="Spelling of the words: exact, digits0, ...")] = "exact",
    seed: Annotated[int, Option(min=0, help="Random seed.")] = 1,
    workers: Annotated[int, Option(min=1, help="Threads; only 1 is reproducible.")] = 1,
    kind: Kind = "auto",
    rules: Rules = "words",
):
    """Train word vectors on text by word2vec."""
    from keraszoo.text.vector_training import train_vectors

    _check_output(output)
    with console.results() as write:
        trained, report = train_vectors(
            files, width, algorithm=algorithm, window=window, min_count=min_count, negative=negative,
            sample=sample, epochs=epochs, form=form, seed=seed, workers=workers, kind=kind, rules=rules,
            progress=_report,
        )  # fmt: skip
        print(report, file=sys.stderr)
        _save(trained, output)
        write([output])
    console.hint("keraszoo", "vectors", "neighbours", output, "WORD")


@vectors.command()
def convert(
    vectors: Vectors,
    output: Output,
    words: Annotated[int | None, Option(min=1, help="Keep this many words, the most frequent ones.")] = None,
    dtype: Dtype = "float32",
    format: Format = "auto",
):
    """Convert vectors to another format or select words."""
    _check_output(output, dtype)
    with console.results() as write:
        read = _read(vectors, format)
        _save(read if words is None else read.first(words), output, dtype)
        write([output])
    console.hint("keraszoo", "train", "RECIPE", "--set", f"vectors.file={output}")


@vectors.command()
def coverage(
    vectors: Vectors,
    corpora: Annotated[list[str], Argument(metavar="CORPUS", help="Tagged columns, or text.")],
    backoff: Backoff = None,
    format: Format = "auto",
    kind: Kind = "auto",
    rules: Rules = "words",
    as_json: AsJson = False,
):
    """Print how much of a corpus has vectors: tokens, types and entity tokens, by back-off step."""
    from keraszoo.text.tagged_files import read_sentences
    from keraszoo.text.word_vectors import DEFAULT_BACKOFF, check_backoff

    backoff = check_backoff(backoff or DEFAULT_BACKOFF)
    sentences = {corpus: list(read_sentences(corpus, kind, rules)) for corpus in corpora}
    words = {word for of_corpus in sentences.values() for sentence in of_corpus for word in sentence.tokens}
    read = _read(vectors, format, words=words, backoff=backoff)
    with console.results() as write:
        for corpus, of_corpus in sentences.items():
            report = read.coverage(of_corpus, backoff)
            write([json.dumps({"corpus": corpus, **report.as_dict()}) if as_json else f"{corpus}\n{report}"])


@vectors.command()
def neighbours(
    vectors: Vectors,
    words: Annotated[list[str], Argument(metavar="WORD", help="Words to look up.")],
    count: Annotated[int, Option(min=1, help="Number of neighbours per word.")] = 10,
    backoff: Backoff = None,
    format: Format = "auto",
):
    """Print the words with the nearest vectors. Shows their cosine similarities."""
    from keraszoo.text.word_vectors import DEFAULT_BACKOFF, check_backoff

    backoff = check_backoff(backoff or DEFAULT_BACKOFF)
    read = _read(vectors, format)
    with console.results() as write:
        for word in words:
            near = read.neighbours(word, count, backoff)
            write(f"{word}\t{one_line(other)}\t{cosine:.4f}" for other, cosine in near)


def _report(stage, done, total):
    """Prints how much is done; while the total is unknown, on a terminal only, where the line is updated."""
    if total or sys.stderr.isatty():
        share = f" of {total:,}" if total else ""
        print(f"{stage}: {done:,}{share} tokens", end="\n" if total else "\r", file=sys.stderr, flush=True)


def _read(path, format, **options):
    from keraszoo.text.word_vectors import WordVectors

    return WordVectors.read(path, format, **options)


def _check_output(output, dtype="float32"):
    """Raises KerasZooError before hours of work if `output` cannot be written."""
    from keraszoo.saving.model_directory import check_replaceable

    is_directory = _file_format(output) is None
    if dtype != "float32" and not is_directory:
        raise KerasZooError(f"{output}: {dtype} is for a directory, a name without an ending")
    console.check_output(output, check_replaceable if is_directory else None, folders=False)


def _save(vectors, output, dtype="float32"):
    format = _file_format(output)
    if format is None:
        vectors.save(output, dtype)
    else:
        vectors.write(output, format)


def _file_format(output):
    """Returns the format for the ending of a file name, or None for a directory, a name without an ending."""
    ending = os.path.splitext(output.removesuffix(".gz"))[1]
    formats = {".bin": "binary", ".txt": "word2vec", ".vec": "word2vec", "": None}
    if ending not in formats or (not ending and output.endswith(".gz")):
        wanted = "a name in .bin, .txt, .vec, or without an ending"
        raise KerasZooError(f"{output}: expected {wanted}, got {ending!r}")
    return formats[ending]

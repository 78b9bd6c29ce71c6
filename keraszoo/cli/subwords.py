"""The command `keraszoo subwords`."""

import itertools
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo.cli import console

app = typer.Typer(rich_markup_mode=None, help="Subword vocabularies.")


@app.callback()
def options():
    """Subword vocabularies."""


@app.command()
def train(
    files: Annotated[
        list[str], Argument(metavar="FILES...", help="Text; of both languages for a joint one.")
    ],
    output: Annotated[str, Option("--output", metavar="FILE", help="The sentencepiece model to write.")],
    vocabulary_size: Annotated[int, Option("--vocabulary-size", min=8, help="Number of ids in all.")] = 8000,
    model_type: Annotated[str, Option("--type", metavar="bpe|unigram", help="The algorithm.")] = "bpe",
    character_coverage: Annotated[float, Option(help="Share of the characters that get an id.")] = 1.0,
):
    """Train a sentencepiece vocabulary on text files."""
    from keraszoo.text.lines import read_lines
    from keraszoo.text.subwords import Subwords

    lines = itertools.chain.from_iterable(map(read_lines, files))
    Subwords.train(lines, vocabulary_size, model_type, character_coverage).save(output)
    with console.results() as write:
        write([output])

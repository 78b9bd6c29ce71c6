"""The command `keraszoo`: its list of commands, those for models of every task, and the one line of an error.

Nothing large is imported before a command needs it, so that `keraszoo --help` is there at once.
"""

import json
import os
import sys
import warnings
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo import __version__
from keraszoo.cli import console, models, subwords, tagger, translator, vectors
from keraszoo.cli.options import BatchSize, Beam, MaxLength, Model, Penalty
from keraszoo.errors import KerasZooError
from keraszoo.messages import say

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(subwords.app, name="subwords")
app.add_typer(vectors.app, name="vectors")


def _print_version(asked):
    if asked:
        typer.echo(f"keraszoo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="The version, nothing else.")
    ] = False,
):
    """Train, score and use translation models and taggers made of the layers of the papers."""


@app.command()
def train(
    recipe: Annotated[str, Argument(metavar="RECIPE", help="A YAML file.")],
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="As training.seed=3; repeatable.")
    ] = None,
    output: Annotated[str | None, Option("--output", help="The directory, instead of the recipe's.")] = None,
    strategy: Annotated[
        str | None, Option("--strategy", metavar="mirrored|workers", help="On all GPUs, or on all machines.")
    ] = None,
    seeds: Annotated[
        int | None, Option("--seeds", min=1, help="So many runs; prints means and deviations.")
    ] = None,
):
    """Train a model as a recipe says, and write its directory.

    A run that was stopped, by Ctrl-C or in any other way, goes on where it was: give the same command again.
    """
    from keraszoo.tasks.recipe_runs import read_recipe, run_recipe

    overrides = list(set_ or [])
    if output is not None:
        overrides.append(f"output={json.dumps(os.path.abspath(output))}")
    if strategy is not None:
        overrides.append(f"training.strategy={json.dumps(strategy)}")
    checked = read_recipe(recipe, overrides)
    with console.results() as write:
        console.import_tensorflow()
        if seeds is None:
            run_recipe(checked)
            write([checked.output])
        else:
            from keraszoo.tasks.seeds import run_seeds

            write(run_seeds(recipe, overrides, seeds, report=lambda directory: write([directory])))


app.command()(translator.translate)


@app.command()
def evaluate(
    model: Model,
    source: Annotated[str | None, Option("--source", metavar="FILE", help="Sentences, one a line.")] = None,
    references: Annotated[
        str | None, Option("--references", metavar="FILE", help="Their translations.")
    ] = None,
    data: Annotated[
        str | None, Option("--data", metavar="FILE", help="Of a tagger: columns, or JSON lines (.jsonl).")
    ] = None,
    known: Annotated[
        str | None,
        Option("--known", metavar="FILE", help="Its training text: scores by entities seen there."),
    ] = None,
    token_column: Annotated[
        str | None, Option("--token-column", help="Its number, from 0, or its name; the first by default.")
    ] = None,
    tag_column: Annotated[
        str | None, Option("--tag-column", help="The same; the last by default, -1.")
    ] = None,
    scheme: Annotated[str | None, Option("--scheme", help="Of the tags; found if not given.")] = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: Annotated[bool, Option("--json", help="As one JSON object.")] = False,
):
    """Score a translator: BLEU, chrF and TER with their signatures; or a tagger: F1 of its entities."""
    search = {"beam_width": beam_width, "length_penalty": length_penalty}
    search |= {"max_length": max_length, "batch_size": batch_size}
    if data is not None:
        _refuse("--data", source=source, references=references, **search)
        tagger.evaluate(model, data, known, token_column or "0", tag_column or "-1", scheme, as_json)
        return
    for option, given in (("--source", source), ("--references", references)):
        if given is None:
            raise KerasZooError(f"Missing option '{option}', or --data for a tagger")
    of_taggers = {"known": known, "token_column": token_column, "tag_column": tag_column, "scheme": scheme}
    _refuse("--source", **of_taggers)
    translator.evaluate(model, source, references, as_json, **search)


app.command()(translator.score)
app.command()(translator.align)


@app.command()
def export(
    model: Model,
    directory: Annotated[str, Argument(metavar="DIRECTORY", help="Where the SavedModel goes.")],
    verify: Annotated[
        str | None, Option("--verify", metavar="FILE", help="Lines of which both must make the same.")
    ] = None,
    jit_compile: Annotated[
        str | None,
        Option(
            "--jit-compile",
            metavar="single|all|never",
            help="Of a translator: what XLA compiles when it is met; single by default.",
        ),
    ] = None,
):
    """Export a SavedModel that turns strings into strings."""
    from keraszoo.text.lines import read_lines

    lines = None if verify is None else list(read_lines(verify))
    if models.task(model) == "tagging":
        _refuse("a tagger", jit_compile=jit_compile)
        tagger.export(model, directory, lines)
    else:
        translator.export(model, directory, lines, jit_compile or "single")


@app.command()
def plot(
    model: Model,
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="To translate, or to tag.")],
    picture: Annotated[
        str, Argument(metavar="PICTURE", help="A .png, .svg or .pdf to write; of a tagger also a .html.")
    ],
    subwords: Annotated[
        bool, Option("--subwords", help="Of a translator: subwords on the axes, not words.")
    ] = False,
):
    """Translate a sentence and draw which words attended to which; or tag it and draw where that looked."""
    if not sentence.strip():
        raise KerasZooError("expected a sentence, got a blank one")
    if models.task(model) == "tagging":
        _refuse("a tagger", subwords=subwords or None)
        tagger.plot(model, sentence, picture)
    else:
        translator.plot(model, sentence, picture, subwords)


app.command()(tagger.tag)
models.add_to(app)


def _refuse(option, **others):
    """Raises KerasZooError if options were given that have no effect beside one."""
    for name, value in others.items():
        if value is not None:
            raise KerasZooError(f"--{name.replace('_', '-')} has no effect beside {option}; leave it out")


def main(arguments=None):
    """Runs the command line; every error that somebody's input can cause is one line and status 2.

    Args:
        arguments: list of str; those of the process by default. None at all show the help.

    Raises:
        SystemExit: always, with 0; 2 for bad input, a wrong option or a file that cannot be written; 130
            after Ctrl-C and 143 after SIGTERM; 141 if the reader of the output went away.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = console.show_warning
            sys.exit(app(args=arguments, prog_name="keraszoo", standalone_mode=False))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except (KerasZooError, OSError) as error:
        _fail(error)
    except typer.TyperException as error:
        _fail(error.format_message())


def _fail(message):
    say(f"error: {message}")
    sys.exit(2)

"""The command `keraszoo`: commands for models of any task, and one-line errors.

Large libraries are imported by the commands that need them, so `keraszoo --help` starts quickly.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo import __version__
from keraszoo.cli import answerer, console, tagger, text, translator
from keraszoo.cli.console import AsJson, BatchSize, Beam, MaxLength, Model, Penalty
from keraszoo.errors import KerasZooError
from keraszoo.messages import one_line, say

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(asked):
    if asked:
        typer.echo(f"keraszoo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
):
    """Train, evaluate and use translation models and named-entity taggers built from attention layers."""


@app.command()
def train(
    recipe: Annotated[str, Argument(metavar="RECIPE", help="The recipe, a YAML file.")],
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Change a value, e.g. training.seed=3; repeatable."),
    ] = None,
    output: Annotated[
        str | None, Option(metavar="DIRECTORY", help="Write here, not to the recipe's output.")
    ] = None,
    strategy: Annotated[
        str | None, Option(metavar="mirrored|workers", help="Train on all GPUs or on several machines.")
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Train with this many seeds; print means and standard deviations.")
    ] = None,
):
    """Train a model from a recipe and write its directory.

    To resume a run that was interrupted, by Ctrl-C or otherwise, run the same command again.
    """
    from keraszoo.saving.model_directory import check_replaceable
    from keraszoo.tasks.recipe_runs import read_recipe, run_recipe

    overrides = list(set_ or [])
    if output is not None:
        overrides.append(f"output={json.dumps(os.path.abspath(output))}")
    if strategy is not None:
        overrides.append(f"training.strategy={json.dumps(strategy)}")
    checked = read_recipe(recipe, overrides)
    if seeds is None:
        console.check_output(checked.output, check_replaceable)
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
    source: Annotated[
        str | None, Option(metavar="FILE", help="Translators: source sentences, one per line.")
    ] = None,
    references: Annotated[
        str | None, Option(metavar="FILE", help="Translators: reference translations.")
    ] = None,
    data: Annotated[
        str | None, Option(metavar="FILE", help="Taggers: tagged columns, or JSON lines (.jsonl).")
    ] = None,
    known: Annotated[
        str | None, Option(metavar="FILE", help="Taggers: training data, to score seen and unseen entities.")
    ] = None,
    token_column: Annotated[
        str | None, Option(help="Taggers: number (from 0) or name; the first by default.")
    ] = None,
    tag_column: Annotated[
        str | None, Option(help="Taggers: number or name; the last (-1) by default.")
    ] = None,
    scheme: Annotated[
        str | None, Option(help="Taggers: tag scheme of the data; detected by default.")
    ] = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: AsJson = False,
):
    """Score a translator (BLEU, chrF, TER) or a tagger (F1)."""
    search = {"beam_width": beam_width, "length_penalty": length_penalty}
    search |= {"max_length": max_length, "batch_size": batch_size}
    if data is not None:
        _refuse("--data", source=source, references=references, **search)
        tagger.evaluate(model, data, known, token_column or "0", tag_column or "-1", scheme, as_json)
        return
    for option, given in (("--source", source), ("--references", references)):
        if given is None:
            raise KerasZooError(f"Missing option '{option}', or --data for a tagger")
    _refuse("--source", known=known, token_column=token_column, tag_column=tag_column, scheme=scheme)
    translator.evaluate(model, source, references, as_json, **search)


app.command()(translator.score)
app.command()(translator.align)


@app.command()
def export(
    model: Model,
    directory: Annotated[str, Argument(metavar="DIRECTORY", help="Where to write it.")],
    verify: Annotated[
        str | None, Option(metavar="FILE", help="Check on these lines that the output is the same.")
    ] = None,
    jit_compile: Annotated[
        bool | None,
        Option(help="Translators: whether XLA compiles programs for small batches; it does by default."),
    ] = None,
    format_: Annotated[
        str, Option("--format", metavar="savedmodel|ctranslate2", help="ctranslate2 needs a Transformer.")
    ] = "savedmodel",
    quantize: Annotated[
        str | None,
        Option(metavar="TYPE", help="ctranslate2: type of the weights, such as int8 or float16."),
    ] = None,
):
    """Export a SavedModel, or a CTranslate2 model, that maps strings to strings."""
    from keraszoo.tasks.export import check_export
    from keraszoo.text.lines import read_lines

    console.check_output(directory, check_export)
    lines = None if verify is None else list(read_lines(verify))
    if task(model) == "tagging":
        other = None if format_ == "savedmodel" else format_
        _refuse("a tagger", jit_compile=jit_compile, format=other, quantize=quantize)
        tagger.export(model, directory, lines)
    else:
        others = {"savedmodel": {"quantize": quantize}, "ctranslate2": {"jit_compile": jit_compile}}
        _refuse(f"--format {format_}", **others.get(format_, {}))
        options = {"format": format_, "jit_compile": jit_compile, "quantize": quantize}
        translator.export(model, directory, lines, **options)


@app.command()
def plot(
    model: Model,
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="The text to translate or to tag.")],
    picture: Annotated[
        str, Argument(metavar="PICTURE", help="The .png, .svg or .pdf to write; taggers: also .html.")
    ],
    subwords: Annotated[
        bool, Option("--subwords", help="Translators: label the axes with subwords, not words.")
    ] = False,
):
    """Draw the attention weights of a translated or tagged sentence."""
    if not sentence.strip():
        raise KerasZooError("expected a sentence, got a blank one")
    console.check_output(picture)
    if task(model) == "tagging":
        _refuse("a tagger", subwords=subwords or None)
        tagger.plot(model, sentence, picture)
    else:
        translator.plot(model, sentence, picture, subwords)


app.command()(tagger.tag)


app.command()(answerer.ask)


@app.command()
def playground(
    models: Annotated[
        list[str] | None,
        Argument(
            metavar="MODELS", help="Names or directories; all shipped models on this machine by default."
        ),
    ] = None,
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 chooses a free one.")] = 0,
    open_: Annotated[bool, Option("--open", help="Open the page in a web browser.")] = False,
):
    """Serve a page on 127.0.0.1 to try models and look into them. Ctrl-C ends it."""
    import logging
    import webbrowser

    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # each set of search options is traced anew
    try:
        from keraszoo.playground.models import Models
        from keraszoo.playground.serve import serve
    except ImportError as error:
        raise KerasZooError(f"{error}; the playground needs pip install 'keraszoo[playground]'") from error

    with console.results() as write:

        def started(address):
            write([address])
            if open_:
                webbrowser.open(address)

        serve(Models(models or ()), port, console.import_tensorflow, started)


@app.command("list")
def list_models(as_json: AsJson = False):
    """List the named models. Shows their scores and where they are on this machine."""
    from keraszoo.shipping.shipped import as_table, list_models

    models = list_models()
    lines = [json.dumps(models, ensure_ascii=False)] if as_json else as_table(models)
    with console.results() as write:
        write(map(one_line, lines))


@app.command()
def fetch(
    name: Annotated[str, Argument(metavar="NAME", help="A name that `keraszoo list` prints.")],
    source: Annotated[
        str, Option("--from", metavar="FOLDER", help="A folder or URL with the content of pretrained/.")
    ],
    sha256: Annotated[
        str | None, Option("--sha256", help="For other models: the last entry of the model's manifest.json.")
    ] = None,
):
    """Fetch a shipped model into the cache. An interrupted download is resumed. No host is built in."""
    from keraszoo.shipping.fetching import fetch

    with console.results() as write:
        write([fetch(name, source, sha256=sha256, report=say)])


@app.command()
def card(
    directories: Annotated[list[str], Argument(metavar="DIRECTORIES", help="Model directories.")],
    facts: Annotated[str | None, Option(metavar="FILE", help="A YAML file of facts by model name.")] = None,
):
    """Rewrite a model card. It states the model's metrics and facts such as its licence."""
    from keraszoo.saving.model_facts import read_facts, rewrite_card

    facts_by_name = read_facts(facts) if facts else {}
    with console.results() as write:
        for directory in directories:
            rewrite_card(directory, facts_by_name.get(Path(directory).resolve().name))
            write([directory])


app.add_typer(text.subwords, name="subwords")
app.add_typer(text.vectors, name="vectors")


def task(model):
    """Returns the task in the `config.json` of a model, such as "tagging"."""
    from keraszoo.saving import model_directory
    from keraszoo.shipping import shipped

    return model_directory.read_directory(shipped.find(model)).config.get("task")


def _refuse(option, **others):
    """Raises KerasZooError if an option was given that has no effect together with `option`."""
    for name, value in others.items():
        if value is not None:
            raise KerasZooError(f"--{name.replace('_', '-')} has no effect with {option}; leave it out")


def main(arguments=None):
    """Runs the command line. Any error caused by input is printed as one line, with exit status 2.

    Args:
        arguments: list of str; those of the process by default. Without arguments, the help is printed.

    Raises:
        SystemExit: always. Status 0; 2 for bad input, a wrong option or a file that cannot be written; 130
            after Ctrl-C; 143 after SIGTERM; 141 if the reader of the output has closed it.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    console.open_closed_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = console.show_warning
            sys.exit(app(args=arguments, prog_name="keraszoo", standalone_mode=False))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except KerasZooError as error:
        _fail(error)
    except OSError as error:  # such as a stdout that cannot be written
        console.discard(sys.stdout)
        _fail(error)
    except typer.TyperException as error:
        _fail(error.format_message())


def _fail(message):
    say(f"error: {message}")
    sys.exit(2)

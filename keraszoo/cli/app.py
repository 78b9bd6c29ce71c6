"""The command `keraszoo`: commands for models of any task, and one-line errors.

Large libraries are imported by the commands that need them, so `keraszoo --help` starts quickly.
"""

import os
import sys
import warnings
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from keraszoo import __version__
from keraszoo.cli import answerer, console, models, serving, tagger, text, training, translator
from keraszoo.cli.console import AsJson, BatchSize, Beam, MaxLength, Model, Penalty
from keraszoo.cli.doctor import doctor
from keraszoo.errors import KerasZooError
from keraszoo.messages import say

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def evaluate(
    model: Model,
    source: Annotated[str | None, Option(metavar="FILE", help="Translators: source sentences.")] = None,
    references: Annotated[str | None, Option(metavar="FILE", help="Translators: references.")] = None,
    data: Annotated[str | None, Option(metavar="FILE", help="Taggers: columns or .jsonl.")] = None,
    known: Annotated[str | None, Option(metavar="FILE", help="Taggers: the training data.")] = None,
    token_column: tagger.TokenColumn = None,
    tag_column: Annotated[str | None, Option(help="Columns: number or name; the last by default.")] = None,
    separator: tagger.Separator = None,
    scheme: Annotated[str | None, Option(help="Columns: the tag scheme; detected by default.")] = None,
    corpus: tagger.Corpus = None,
    context: tagger.Context = 0,
    labels: tagger.Labels = None,
    map_: tagger.Map = None,
    tokenizer: translator.Tokenizer = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: AsJson = False,
):
    """Score a translator (BLEU, chrF, TER) or a tagger (F1)."""
    search = {"beam_width": beam_width, "length_penalty": length_penalty, "tokenizer": tokenizer}
    search |= {"max_length": max_length, "batch_size": batch_size}
    columns = {"token_column": token_column, "tag_column": tag_column}
    columns |= {"separator": separator, "scheme": scheme}
    if data is not None:
        from keraszoo.text.json_spans import is_json_lines

        console.refuse("--data", source=source, references=references, **search)
        if all(map(is_json_lines, filter(None, (data, known)))):
            console.refuse("JSON lines", **columns)
        choice = tagger.choice_of(labels, map_)
        tagger.evaluate(model, data, known, corpus, context, choice, as_json, **columns)
        return
    for option, given in (("--source", source), ("--references", references)):
        if given is None:
            raise KerasZooError(f"Missing option '{option}', or --data for a tagger")
    tags = {"known": known, "corpus": corpus, "context": context or None, "labels": labels, "map": map_}
    console.refuse("--source", **tags, **columns)
    translator.evaluate(model, source, references, as_json, **search)


def export(
    model: Model,
    directory: Annotated[str, Argument(metavar="DIRECTORY", help="Where to write it.")],
    verify: Annotated[str | None, Option(metavar="FILE", help="Compare the output on these lines.")] = None,
    jit_compile: Annotated[
        bool | None,
        Option("--jit-compile", help="Translators: let XLA compile programs for single sentences."),
    ] = None,
    format_: Annotated[
        Literal["savedmodel", "onnx", "ctranslate2"],
        Option("--format", help="onnx: for ONNX Runtime. ctranslate2: Transformers that translate."),
    ] = "savedmodel",
    quantize: Annotated[
        str | None, Option(metavar="TYPE", help="ctranslate2: type of the weights, such as int8 or float16.")
    ] = None,
    corpus: tagger.Corpus = None,
):
    """Export a SavedModel, or another format, that maps strings to strings."""
    from keraszoo.tasks.export import check_export, megabytes
    from keraszoo.text.lines import read_lines

    console.check_output(directory, check_export)
    lines = None if verify is None else list(read_lines(verify))
    if lines == []:
        raise KerasZooError(f"{verify}: expected at least one line, got none")
    options = {"jit_compile": jit_compile, "quantize": quantize}
    if tags := task(model) == "tagging":
        console.refuse("a tagger", **options)
    else:
        reads = {"savedmodel": "jit_compile", "ctranslate2": "quantize"}.get(format_)
        console.refuse("a translator", corpus=corpus)
        console.refuse(f"--format {format_}", **{name: options[name] for name in options if name != reads})
    with console.results() as write:
        loaded = tagger.load(model, corpus) if tags else translator.load(model)
        say(f"exporting to the format {format_}")
        loaded.export(directory, format=format_, **{k: v for k, v in options.items() if v is not None})
        write([directory])
        say(f"the export has {megabytes(directory):,.1f} MB")
        if lines is not None:
            say(f"running the export on {len(lines)} lines")
            write([f"{loaded.verify_export(directory, lines)} of {len(lines)} results are the same"])
    program = os.path.join(directory, "tag.py" if tags else "translate.py")
    load = f"import tensorflow_text, tensorflow; tensorflow.saved_model.load({directory!r})"
    commands = {
        "ctranslate2": ["keraszoo", "translate", directory, "--engine", "ctranslate2", "TEXT_FILE"],
        "onnx": ["python", program],
    }
    console.hint(*commands.get(format_, ["python", "-c", load]))


def plot(
    model: Model,
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="The text to translate or to tag.")],
    picture: Annotated[str, Argument(metavar="PICTURE", help="A .png, .svg, .pdf; taggers: .html.")],
    subwords: Annotated[bool, Option("--subwords", help="Translators: subwords, not words.")] = False,
    heads: Annotated[bool, Option("--heads", help="Translators: all heads of all layers.")] = False,
):
    """Draw the attention weights of a translated or tagged sentence."""
    if not sentence.strip():
        raise KerasZooError("expected a sentence, got a blank one")
    from keraszoo.plots.figures import check_picture

    console.check_output(picture)
    tags = task(model) == "tagging"
    if not (tags and picture.endswith(".html")):
        check_picture(picture)
    if tags:
        console.refuse("a tagger", subwords=subwords or None, heads=heads or None)
        tagger.plot(model, sentence, picture)
    else:
        translator.plot(model, sentence, picture, subwords, heads)
    console.hint("keraszoo", "playground", model)


COMMANDS = {
    "Use models": {
        "translate": translator.translate,
        "tag": tagger.tag,
        "ask": answerer.ask,
        "playground": serving.playground,
        "serve": serving.serve,
    },
    "Train": {
        "pairs": training.pairs,
        "init": training.init,
        "train": training.train,
        "distil": training.distil,
        "ensemble": translator.ensemble,
        "uncertain": tagger.uncertain,
        "subwords": text.subwords,
        "vectors": text.vectors,
    },
    "Evaluate": {
        "evaluate": evaluate,
        "score": translator.score,
        "calibrate": translator.calibrate,
        "align": translator.align,
        "plot": plot,
        "plot-runs": training.plot_runs,
    },
    "Share": {"export": export, "card": models.card, "upload": models.upload},
    "Set up": {"list": models.list_models, "fetch": models.fetch, "doctor": doctor},
}
for _panel, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_command)


def task(model):
    """Returns the task in the `config.json` of a model, such as "tagging"."""
    from keraszoo.saving import model_directory
    from keraszoo.shipping import shipped

    return model_directory.read_directory(shipped.find(model)).config.get("task")


def main(arguments=None):
    """Runs the command line with a list of str, by default those of the process; prints the help for none.

    Raises:
        SystemExit: always. Status 0; 2 for bad input, a wrong option or a file that cannot be written; 130
            after Ctrl-C; 143 after SIGTERM; 141 if the reader of the output has closed it.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    console.open_closed_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = console.warning_writer()
            sys.exit(app(args=arguments, prog_name="keraszoo", standalone_mode=False))
    except SystemExit as ended:
        unread = ended.code == 1 and isinstance(ended.__context__, BrokenPipeError)  # typer's help
        sys.exit(141 if unread else ended.code)
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

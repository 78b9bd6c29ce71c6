"""The command `keraszoo`: each of its commands is a few calls of `keraszoo.tasks`.

Nothing large is imported before a command needs it, so that `keraszoo --help` is there at once.
"""

import itertools
import json
import os
import sys
import warnings
from typing import Annotated

import typer
from typer import Argument, Option

from keraszoo import __version__, cli_models, cli_tagger, cli_vectors, console
from keraszoo.errors import KerasZooError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
subwords_app = typer.Typer(rich_markup_mode=None, help="Subword vocabularies.")
app.add_typer(subwords_app, name="subwords")
app.add_typer(cli_vectors.app, name="vectors")

Model = Annotated[str, Argument(metavar="MODEL", help="A model directory, or a shipped model's name.")]
Beam = Annotated[int | None, Option("--beam-width", min=1, help="Hypotheses kept at a time; 1 is greedy.")]
Penalty = Annotated[
    float | None, Option("--length-penalty", min=0.0, help="0: none, which favours short ones.")
]
MaxLength = Annotated[int | None, Option("--max-length", min=1, help="Most subwords of a translation.")]
BatchSize = Annotated[int | None, Option("--batch-size", min=1, help="Sentences translated at a time.")]
Source = Annotated[str, Option("--source", metavar="FILE", help="Sentences, one a line.")]


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
        str | None, Option("--strategy", metavar="mirrored", help="On all GPUs, or on parts of the CPU.")
    ] = None,
    seeds: Annotated[
        int | None, Option("--seeds", min=1, help="So many runs; prints means and deviations.")
    ] = None,
):
    """Train a model as a recipe says, and write its directory.

    A run that was stopped, by Ctrl-C or in any other way, goes on where it was: give the same command again.
    """
    from keraszoo.tasks.recipe_tasks import read_recipe, run

    overrides = list(set_ or [])
    if output is not None:
        overrides.append(f"output={json.dumps(os.path.abspath(output))}")
    if strategy is not None:
        overrides.append(f"training.strategy={json.dumps(strategy)}")
    checked = read_recipe(recipe, overrides)
    with console.results() as write:
        console.import_tensorflow()
        if seeds is None:
            run(checked)
            write([checked.output])
        else:
            from keraszoo.tasks.seeds import run_seeds

            write(run_seeds(recipe, overrides, seeds, report=lambda directory: write([directory])))


@app.command()
def translate(
    model: Model,
    files: Annotated[
        list[str] | None, Argument(metavar="[FILES]...", help="Plain or gzip; or stdin.")
    ] = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: Annotated[bool, Option("--json", help="A JSON object a line, with log-probabilities.")] = False,
    n_best: Annotated[
        int | None, Option("--n-best", min=1, help="So many hypotheses; implies --json.")
    ] = None,
    attention: Annotated[bool, Option("--attention", help="Attention weights; implies --json.")] = False,
):
    """Translate lines of text: one line in, one line out, blank lines kept."""
    from keraszoo.tasks.line_translation import describe_lines, translate_lines
    from keraszoo.text.parallel import read_lines

    lines = itertools.chain.from_iterable(map(read_lines, files or ["-"]))
    # Somebody who types waits for the answer to each line.
    chunk = 1 if not files and sys.stdin.isatty() else 512
    search = _given(
        beam_width=beam_width, length_penalty=length_penalty, max_length=max_length, batch_size=batch_size
    )
    with console.results() as write:
        translator = _translator(model)
        if attention:
            translator.require_attention()
        if as_json or attention or n_best:
            search |= _given(num_hypotheses=n_best)
            answers = describe_lines(translator, lines, chunk, attention=attention, **search)
        else:
            answers = translate_lines(translator, lines, chunk, **search)
        for some in answers:
            write(some)


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
    token_column: Annotated[str, Option("--token-column", help="Its number, from 0, or its name.")] = "0",
    tag_column: Annotated[str, Option("--tag-column", help="The same; -1 is the last.")] = "-1",
    scheme: Annotated[str | None, Option("--scheme", help="Of the tags; found if not given.")] = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: Annotated[bool, Option("--json", help="As one JSON object.")] = False,
):
    """Score a translator: BLEU, chrF and TER with their signatures; or a tagger: F1 of its entities."""
    if data is not None:
        _refuse("--data", source=source, references=references)
        cli_tagger.evaluate(model, data, known, token_column, tag_column, scheme, as_json)
        return
    for option, given in (("--source", source), ("--references", references)):
        if given is None:
            raise KerasZooError(f"Missing option '{option}', or --data for a tagger")
    from keraszoo.text.parallel import read_pairs

    sources, targets = zip(*read_pairs(source, references), strict=True)
    search = _given(
        beam_width=beam_width, length_penalty=length_penalty, max_length=max_length, batch_size=batch_size
    )
    with console.results() as write:
        scores = _translator(model).evaluate(list(sources), list(targets), **search)
        write([json.dumps(scores.as_dict()) if as_json else scores])


@app.command()
def score(
    model: Model,
    source: Source,
    target: Annotated[str, Option("--target", metavar="FILE", help="Their translations.")],
):
    """Print the natural log-probability of each given translation, one a line."""
    from keraszoo.text.parallel import read_pairs

    pairs = read_pairs(source, target)
    with console.results() as write:
        translator = _translator(model)
        while some := list(itertools.islice(pairs, 512)):
            sources, targets = zip(*some, strict=True)
            write(f"{value:.6f}" for value in translator.score(list(sources), list(targets)))


@app.command()
def export(
    model: Model,
    directory: Annotated[str, Argument(metavar="DIRECTORY", help="Where the SavedModel goes.")],
    verify: Annotated[
        str | None, Option("--verify", metavar="FILE", help="Lines of which both must make the same.")
    ] = None,
    jit_compile: Annotated[
        str, Option("--jit-compile", metavar="single|all|never", help="What XLA compiles when it is met.")
    ] = "single",
):
    """Export a SavedModel that turns strings into strings."""
    from keraszoo.text.parallel import read_lines

    lines = None if verify is None else list(read_lines(verify))
    if _task(model) == "tagging":
        cli_tagger.export(model, directory, lines)
        return
    with console.results() as write:
        translator = _translator(model)
        translator.export(directory, jit_compile)
        write([directory])
        if lines is not None:
            count = translator.verify_export(directory, lines)
            write([f"{count} translations are the same"])


@app.command()
def plot(
    model: Model,
    sentence: Annotated[str, Argument(metavar="SENTENCE", help="To translate, or to tag.")],
    picture: Annotated[
        str, Argument(metavar="PICTURE", help="A .png, .svg or .pdf to write; of a tagger also a .html.")
    ],
    subwords: Annotated[bool, Option("--subwords", help="Subwords on the axes, not words.")] = False,
):
    """Translate a sentence and draw which words attended to which; or tag it and draw where that looked."""
    if not sentence.strip():
        raise KerasZooError("expected a sentence, got a blank one")
    if _task(model) == "tagging":
        cli_tagger.plot(model, sentence, picture)
        return
    with console.results() as write:
        translator = _translator(model)
        translator.require_attention()
        translation = translator.translate_details([sentence])[0]
        from keraszoo.plots import attention_heatmap
        from keraszoo.text.words import merge_subwords

        drawn = translation.source_tokens, translation.tokens, translation.attention_weights
        attention_heatmap(*(drawn if subwords else merge_subwords(*drawn)), path=picture)
        write([translation.text])


app.command()(cli_tagger.tag)
cli_models.add_to(app)


@subwords_app.callback()
def subwords_options():
    """Subword vocabularies."""


@subwords_app.command("train")
def train_subwords(
    files: Annotated[
        list[str], Argument(metavar="FILES...", help="Text; of both languages for a joint one.")
    ],
    output: Annotated[str, Option("--output", metavar="FILE", help="The sentencepiece model to write.")],
    vocabulary_size: Annotated[int, Option("--vocabulary-size", min=8, help="Number of ids in all.")] = 8000,
    model_type: Annotated[str, Option("--type", metavar="bpe|unigram", help="The algorithm.")] = "bpe",
    character_coverage: Annotated[float, Option(help="Share of the characters that get an id.")] = 1.0,
):
    """Train a sentencepiece vocabulary on text files."""
    from keraszoo.text.parallel import read_lines
    from keraszoo.text.subwords import Subwords

    lines = itertools.chain.from_iterable(map(read_lines, files))
    Subwords.train(lines, vocabulary_size, model_type, character_coverage).save(output)
    with console.results() as write:
        write([output])


def _given(**options):
    """The options that were given; the others are left to the model's own settings."""
    return {key: value for key, value in options.items() if value is not None}


def _refuse(option, **others):
    """Raises KerasZooError if options were given that have no effect beside one."""
    for name, value in others.items():
        if value is not None:
            raise KerasZooError(f"--{name} has no effect beside {option}; leave it out")


def _task(model):
    """What the model of a directory does, as its `config.json` has it."""
    from keraszoo.saving import model_directory
    from keraszoo.shipping import shipped

    return model_directory.read_directory(shipped.find(model)).config.get("task")


def _translator(model):
    console.import_tensorflow()
    from keraszoo.tasks.translator import Translator

    return Translator.from_preset(model)


def main(arguments=None):
    """Runs the command line; every error that somebody's input can cause is one line and status 2.

    Args:
        arguments: list of str; those of the process by default. None at all show the help.

    Raises:
        SystemExit: always, with 0; 2 for bad input, a wrong option or a file that cannot be written; 130
            after Ctrl-C; 141 if the reader of the output went away.
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
    print(f"keraszoo: error: {console.one_line(message)}", file=sys.stderr)
    sys.exit(2)

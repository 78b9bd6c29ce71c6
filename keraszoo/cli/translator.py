"""The commands `translate`, `ensemble`, `score` and `align`, and `evaluate` and `plot` for translators."""

import itertools
import json
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.console import BatchSize, Beam, Files, MaxLength, Model, Penalty
from keraszoo.errors import KerasZooError

Engine = Annotated[
    Literal["keras", "ctranslate2"],
    Option(help="ctranslate2 is fast, and also reads what `export --format ctranslate2` wrote."),
]
Tokenizer = Annotated[
    str | None,
    Option(metavar="13a|zh|ja-mecab|ko-mecab|char|flores200", help="Translators: sacrebleu's tokenizer."),
]


def translate(
    model: Model,
    files: Files = None,
    beam_width: Beam = None,
    length_penalty: Penalty = None,
    max_length: MaxLength = None,
    batch_size: BatchSize = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with log-probabilities.")] = False,
    n_best: Annotated[int | None, Option(min=1, help="Print this many hypotheses; implies --json.")] = None,
    attention: Annotated[
        bool, Option("--attention", help="Print attention weights; implies --json.")
    ] = False,
    prefix: Annotated[
        str | None, Option(metavar="TEXT", help="The text that each translation starts with.")
    ] = None,
    target_language: Annotated[
        str | None, Option(metavar="NAME", help="Of a model with several: the name in its >>NAME<<.")
    ] = None,
    engine: Engine = "keras",
    document: Annotated[
        bool, Option("--document", help="Each file is a document: translate its sentences, keep its form.")
    ] = False,
    markup: Annotated[
        str | None, Option(metavar="text|html|markdown", help="Keep tags, placeholders, addresses, numbers.")
    ] = None,
    keep: Annotated[
        list[str] | None, Option(metavar="WORD", help="A word that does not change; repeatable.")
    ] = None,
    language: Annotated[
        str | None, Option(metavar="CODE", help="Of a document: its language, by default the model's.")
    ] = None,
    wrapped: Annotated[
        bool, Option("--wrapped", help="Of a document of plain text: paragraphs go over several lines.")
    ] = False,
):
    """Translate text line by line, or whole documents. Blank lines are kept."""
    from keraszoo.text.lines import read_lines, read_text
    from keraszoo.translation.lines import describe_lines, translate_lines

    files = files or ["-"]
    lines = itertools.chain.from_iterable(map(read_lines, files))
    chunk = min(console.lines_at_once(file, 512) for file in files)
    search = _given(beam_width=beam_width, length_penalty=length_penalty, max_length=max_length)
    search |= _given(batch_size=batch_size, prefix=prefix, target_language=target_language)
    search |= _given(markup=markup, keep=keep)
    details = as_json or attention or n_best
    _check_form(document, details, prefix, markup or keep, language or wrapped)
    console.one_thread_per_operation()
    with console.results() as write:
        translator = load(model, engine)
        if attention:
            translator.require_attention()
        if document:
            search |= _given(language=language, wrapped=wrapped)
            for file in files:
                text = translator.translate_document(read_text(file), **search)
                write([text.removesuffix("\n")] if text else [])
            return
        if details:
            search |= _given(num_hypotheses=n_best)
            answers = describe_lines(translator, lines, chunk, attention=attention, **search)
        else:
            answers = translate_lines(translator, lines, chunk, **search)
        for lines_of_chunk in answers:
            write(lines_of_chunk)


def ensemble(
    models: Annotated[list[str], Argument(metavar="MODELS", help="Names or directories of translators.")],
    output: Annotated[str, Option(metavar="DIRECTORY", help="Where to write it.")],
):
    """Combine several translators into one that averages their probabilities."""
    from keraszoo.saving.model_directory import check_replaceable
    from keraszoo.shipping import shipped

    console.check_output(output, check_replaceable)
    with console.results() as write:
        places = [Path(shipped.find(model)).resolve() for model in models]
        if len(set(places)) < len(places):
            raise KerasZooError(f"ensemble: expected different models, got {', '.join(models)}")
        loaded = [load(model) for model in models]
        from keraszoo.translation.translator import Translator

        Translator.ensemble(loaded).save_to_preset(output)
        write([output])
    console.hint_at_use(output, "translation")


def score(
    model: Model,
    source: Annotated[str, Option(metavar="FILE", help="Source sentences, one per line.")],
    target: Annotated[str, Option(metavar="FILE", help="Translations to score, one per line.")],
):
    """Print the log-probability of each given translation. The logarithm is natural."""
    from keraszoo.text.parallel import read_pairs

    pairs = read_pairs(source, target)
    with console.results() as write:
        translator = load(model)
        while chunk := list(itertools.islice(pairs, 512)):
            sources, targets = zip(*chunk, strict=True)
            write(f"{value:.6f}" for value in translator.score(list(sources), list(targets)))


def align(
    model: Model,
    source: Annotated[str, Option(metavar="FILE", help="Source sentences, one per line.")],
    target: Annotated[str, Option(metavar="FILE", help="Translations to align, one per line.")],
):
    """Align the words of given translations by attention.

    Prints one line `i-j i-j ...` (Pharaoh format) per pair. `i` numbers the words of the source and `j` those
    of the target, from 0. Each target word is paired with the source word that its subwords attend to most;
    `</s>` is left out.
    """
    from keraszoo.text.parallel import read_pairs
    from keraszoo.translation.lines import align_lines

    with console.results() as write:
        translator = load(model)
        translator.require_attention()
        for lines_of_chunk in align_lines(translator, read_pairs(source, target)):
            write(lines_of_chunk)


def evaluate(model, source, references, as_json, **search):
    """Prints the scores of a translator on two files."""
    from keraszoo.text.parallel import read_pairs

    sources, targets = zip(*read_pairs(source, references), strict=True)
    console.one_thread_per_operation()
    with console.results() as write:
        scores = load(model).evaluate(list(sources), list(targets), **_given(**search))
        write([json.dumps(scores.as_dict()) if as_json else scores])


def plot(model, sentence, picture, subwords, heads):
    """Translates a sentence and draws its attention weights, of one head or of all, between (sub)words."""
    with console.results() as write:
        translator = load(model)
        translator.require_attention()
        translation = translator.translate_details([sentence])[0]
        weights = translator.align([sentence], [translation.tokens], heads=True)[0] if heads else None
        translation.plot(picture, subwords, heads=weights)
        write([translation.text])


def load(model, engine="keras"):
    """Returns the translator of a directory or of an included model."""
    if engine == "ctranslate2":
        from keraszoo.tasks.export import format_of
        from keraszoo.translation.ctranslate2_translator import CTranslate2Translator

        if format_of(model) == "ctranslate2":  # without Keras
            return CTranslate2Translator(model)
    console.import_keras()
    from keraszoo.translation.translator import Translator

    return Translator.from_preset(model, engine)


def _check_form(document, details, prefix, kept, of_document):
    """Raises KerasZooError for options of `translate` that exclude each other."""
    if (document or kept) and (details or prefix):
        raise KerasZooError("--document, --markup and --keep exclude --json, --n-best, --attention, --prefix")
    if of_document and not document:
        raise KerasZooError("--language and --wrapped need --document")


def _given(**options):
    """Returns the options that were given. For the others, the model has its own settings."""
    return {key: value for key, value in options.items() if value is not None}

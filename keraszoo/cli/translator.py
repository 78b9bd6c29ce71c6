"""Commands for translators: `translate`, `score`, `align`; `evaluate`, `export` and `plot` for one."""

import itertools
import json
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.cli.options import BatchSize, Beam, MaxLength, Model, Penalty


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
    prefix: Annotated[
        str | None, Option("--prefix", metavar="TEXT", help="How every translation begins.")
    ] = None,
):
    """Translate lines of text: one line in, one line out, blank lines kept."""
    from keraszoo.text.lines import read_lines
    from keraszoo.translation.lines import describe_lines, translate_lines

    files = files or ["-"]
    lines = itertools.chain.from_iterable(map(read_lines, files))
    chunk = min(console.lines_at_once(file, 512) for file in files)
    search = _given(beam_width=beam_width, length_penalty=length_penalty, max_length=max_length)
    search |= _given(batch_size=batch_size, prefix=prefix)
    with console.results() as write:
        translator = load(model)
        if attention:
            translator.require_attention()
        if as_json or attention or n_best:
            search |= _given(num_hypotheses=n_best)
            answers = describe_lines(translator, lines, chunk, attention=attention, **search)
        else:
            answers = translate_lines(translator, lines, chunk, **search)
        for some in answers:
            write(some)


def score(
    model: Model,
    source: Annotated[str, Option("--source", metavar="FILE", help="Sentences, one a line.")],
    target: Annotated[str, Option("--target", metavar="FILE", help="Their translations.")],
):
    """Print the natural log-probability of each given translation, one a line."""
    from keraszoo.text.parallel import read_pairs

    pairs = read_pairs(source, target)
    with console.results() as write:
        translator = load(model)
        while some := list(itertools.islice(pairs, 512)):
            sources, targets = zip(*some, strict=True)
            write(f"{value:.6f}" for value in translator.score(list(sources), list(targets)))


def align(
    model: Model,
    source: Annotated[str, Option("--source", metavar="FILE", help="Sentences, one a line.")],
    target: Annotated[str, Option("--target", metavar="FILE", help="Their translations.")],
):
    """Align the words of given translations by attention: one line `i-j i-j ...` (Pharaoh) per pair.

    `i` numbers the words of the source and `j` those of the target, from 0. Each target word is paired with
    the source word that its subwords attend to most; `</s>` is left out.
    """
    from keraszoo.text.parallel import read_pairs
    from keraszoo.translation.lines import align_lines

    with console.results() as write:
        translator = load(model)
        translator.require_attention()
        for some in align_lines(translator, read_pairs(source, target)):
            write(some)


def evaluate(model, source, references, as_json, **search):
    """Prints the scores of a translator on two files."""
    from keraszoo.text.parallel import read_pairs

    sources, targets = zip(*read_pairs(source, references), strict=True)
    with console.results() as write:
        scores = load(model).evaluate(list(sources), list(targets), **_given(**search))
        write([json.dumps(scores.as_dict()) if as_json else scores])


def export(model, directory, verify, jit_compile):
    """Writes the SavedModel of a translator, and compares it on the lines `verify` if they are given."""
    with console.results() as write:
        translator = load(model)
        translator.export(directory, jit_compile)
        write([directory])
        if verify is not None:
            write([f"{translator.verify_export(directory, verify)} translations are the same"])


def plot(model, sentence, picture, subwords):
    """Translates a sentence and draws which words attended to which, or which subwords."""
    with console.results() as write:
        translator = load(model)
        translator.require_attention()
        translation = translator.translate_details([sentence])[0]
        from keraszoo.plots import attention_heatmap
        from keraszoo.text.subwords import merge_subwords

        drawn = translation.source_tokens, translation.tokens, translation.attention_weights
        attention_heatmap(*(drawn if subwords else merge_subwords(*drawn)), path=picture)
        write([translation.text])


def load(model):
    """The translator of a directory or of a shipped name."""
    console.import_tensorflow()
    from keraszoo.translation.translator import Translator

    return Translator.from_preset(model)


def _given(**options):
    """The options that were given; the others are left to the model's own settings."""
    return {key: value for key, value in options.items() if value is not None}

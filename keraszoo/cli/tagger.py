"""The commands of taggers: `tag`, and what `evaluate`, `export` and `plot` do with the directory of one."""

import json
from typing import Annotated

from typer import Argument, Option

from keraszoo.cli import console
from keraszoo.errors import KerasZooError

FORMATS = "text|columns|json"


def tag(
    model: Annotated[str, Argument(metavar="MODEL", help="A tagger's directory, or a shipped one's name.")],
    files: Annotated[
        list[str] | None, Argument(metavar="[FILES]...", help="Plain or gzip; or stdin.")
    ] = None,
    from_: Annotated[
        str, Option("--from", metavar=FORMATS, help="A text a line; a word a line; or JSON with a text.")
    ] = "text",
    to: Annotated[
        str | None,
        Option("--to", metavar=f"{FORMATS}|html", help="JSON lines, but for columns, which get one more."),
    ] = None,
    token_column: Annotated[str, Option("--token-column", help="Its number, from 0, or its name.")] = "0",
    attention: Annotated[
        bool, Option("--attention", help="With the attention on each word; JSON or HTML.")
    ] = False,
):
    """Find named entities: text, columns or JSON lines in, the same or HTML out."""
    from keraszoo.tagging import lines as tagged_lines
    from keraszoo.text.lines import read_lines

    to = to or ("columns" if from_ == "columns" else "json")
    _check_format("--from", from_, FORMATS.split("|"))
    _check_format("--to", to, [*FORMATS.split("|"), "html"])
    if attention and to not in ("json", "html"):
        raise KerasZooError(f"--attention: expected --to json or html, got {to}")
    files = files or ["-"]
    with console.results() as write:
        tagger = load(model)
        if attention:
            tagger.require_attention()
        if to == "html":
            write(_page(tagger, files, from_, token_column, attention).splitlines())
            return
        writer = tagged_lines.json_line_with_attention if attention else tagged_lines.WRITERS[to]
        if from_ == "columns":
            writer = None if to == "columns" else writer
            for file in files:
                write(tagged_lines.tag_columns(tagger, file, writer, token_column=column(token_column)))
            return
        for file in files:
            chunk = console.lines_at_once(file, 256)
            for some in tagged_lines.tag_lines(
                tagger, read_lines(file), writer, chunk, as_json=from_ == "json", path=file
            ):
                write(some)


def evaluate(model, data, known, token_column, tag_column, scheme, as_json):
    """Prints the scores of a tagger on a tagged file."""
    console.import_tensorflow()
    from keraszoo.text.tagged_files import read_tagged

    columns = {"token_column": column(token_column), "tag_column": column(tag_column), "scheme": scheme}
    with console.results() as write:
        tagger = load(model)
        rules = tagger.vocabulary.token_rules
        corpus = read_tagged(data, rules, **columns)
        known = None if known is None else read_tagged(known, rules, **columns)
        scores = tagger.evaluate(corpus, known)
        write([json.dumps(scores.as_dict()) if as_json else scores])


def export(model, directory, verify):
    """Writes the SavedModel of a tagger, and compares it on the lines `verify` if they are given."""
    with console.results() as write:
        tagger = load(model)
        tagger.export(directory)
        write([directory])
        if verify is not None:
            write([f"{tagger.verify_export(directory, verify)} texts are tagged alike"])


def plot(model, text, picture):
    """Draws the attention over the words of a text; a path that ends in .html gets a page."""
    from keraszoo.plots import attention_strip, html_page, save_html
    from keraszoo.tagging.lines import bracketed

    with console.results() as write:
        tagger = load(model)
        tagger.require_attention()
        found = tagger.tag_details([text])[0]
        if picture.endswith(".html"):
            save_html(html_page([found], attention=True), picture)
        elif len(found.sentences) == 1:
            words = [token.text for token in found.tokens]
            attention_strip(words, found.attention_weights, found.tags, picture)
        else:
            raise KerasZooError(
                f"a picture shows one sentence, got {len(found.sentences)}; a .html shows any"
            )
        write(bracketed(found))


def load(model):
    """The tagger of a directory or of a shipped name."""
    console.import_tensorflow()
    from keraszoo.tagging.entity_tagger import EntityTagger

    return EntityTagger.from_preset(model)


def column(text):
    """A column as the readers take it: a number if it looks like one, else a name."""
    return int(text) if text.lstrip("-").isdigit() else text


def _page(tagger, files, from_, token_column, attention):
    from keraszoo.plots import html_page
    from keraszoo.tagging import lines as tagged_lines
    from keraszoo.text.lines import read_lines

    found = []
    for file in files:
        if from_ == "columns":
            tagged_lines.tag_columns(tagger, file, _into(found), token_column=column(token_column))
        else:
            lines = read_lines(file)
            for _ in tagged_lines.tag_lines(tagger, lines, _into(found), as_json=from_ == "json", path=file):
                pass
    return html_page(found, list(tagger.vocabulary.labels), attention)


def _into(found):
    """A writer that keeps what it is given, and writes nothing."""

    def write(text, record):
        found.append(text)
        return []

    return write


def _check_format(option, given, allowed):
    if given not in allowed:
        raise KerasZooError(f"{option}: expected one of {', '.join(allowed)}, got {given!r}")

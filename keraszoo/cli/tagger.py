"""The commands `tag` and `uncertain`, and the tagger's part of `evaluate` and `plot`."""

import itertools
import json
import re
from typing import Annotated, Literal

from typer import Option

from keraszoo.cli import console
from keraszoo.cli.console import Files, Model
from keraszoo.errors import KerasZooError
from keraszoo.messages import say

In = Literal["text", "columns", "json"]
Out = Literal["text", "columns", "json", "html"]
Corpus = Annotated[
    str | None,
    Option(help="Taggers of several corpora: the one whose labels are used; by default the card's first."),
]
Context = Annotated[
    int,
    Option(
        min=0,
        help="Taggers: average a word's tag probabilities over its repeats at most this many sentences away.",
    ),
]
TokenColumn = Annotated[
    str | None, Option(help="Columns: number (from 0) or name of the tokens; the first by default.")
]
Separator = Annotated[str | None, Option(help="Columns: what separates them; a tab or blanks by default.")]
Labels = Annotated[
    list[str] | None,
    Option("--labels", metavar="NAMES", help="Taggers: only these labels, such as PER,LOC, after --map."),
]
Map = Annotated[
    list[str] | None,
    Option("--map", metavar="OLD=NEW", help="Taggers: rename a label, such as PERSON=PER; repeatable."),
]


def tag(
    model: Model,
    files: Files = None,
    from_: Annotated[
        In | None,
        Option("--from", help="A text, word or JSON object per line; json for .jsonl, otherwise text."),
    ] = None,
    to: Annotated[Out | None, Option(help="Default: columns for columns, otherwise json.")] = None,
    token_column: TokenColumn = None,
    separator: Separator = None,
    attention: Annotated[bool, Option("--attention", help="Add attention weights (JSON, HTML).")] = False,
    threshold: Annotated[
        float, Option(min=0.0, max=1.0, help="Leave out entities that are less probable (not for columns).")
    ] = 0.0,
    context: Context = 0,
    corpus: Corpus = None,
    labels: Labels = None,
    map_: Map = None,
):
    """Find named entities in text, columns or JSON lines."""
    from keraszoo.tagging import lines as tagged_lines
    from keraszoo.text.json_spans import is_json_lines
    from keraszoo.text.lines import read_lines

    if from_ is None:
        from_ = "json" if files and all(map(is_json_lines, files)) else "text"
    to = to or ("columns" if from_ == "columns" else "json")
    if attention and to not in ("json", "html"):
        raise KerasZooError(f"--attention: expected --to json or html, got {to}")
    if threshold and to == "columns":
        raise KerasZooError("--threshold: expected --to text, json or html, got columns")
    for option, given in (("--token-column", token_column), ("--separator", separator)):
        if given is not None and from_ != "columns":
            raise KerasZooError(f"{option}: expected --from columns, got {from_}")
    columns = {"token_column": column(token_column, 0), "separator": separator}
    choice = choice_of(labels, map_)
    console.one_thread_per_operation()
    with console.results() as write:
        tagger = load(model, corpus)
        if attention:
            tagger.require_attention()
        tagged = []
        if to == "html":
            writer = lambda text, record: tagged.append(text) or []  # noqa: E731
        elif attention:
            writer = tagged_lines.json_line_with_attention
        else:
            writer = None if from_ == to == "columns" else tagged_lines.WRITERS[to]
        if threshold:
            everything = writer
            writer = lambda text, record: everything(text.above(threshold), record)  # noqa: E731
        files = files or ["-"]
        if from_ == "columns":
            answers = tagged_lines.tag_columns(tagger, files, writer, context, choice, **columns)
        else:
            answers = itertools.chain.from_iterable(
                tagged_lines.tag_lines(
                    tagger,
                    read_lines(file),
                    writer,
                    console.lines_at_once(file, 256),
                    from_ == "json",
                    file,
                    context,
                    **choice,
                )
                for file in files
            )
        for lines in answers:
            write(lines)
        if to == "html":
            from keraszoo.plots import html_page

            names = [choice.get("mapping", {}).get(label, label) for label in tagger.vocabulary.labels]
            write([html_page(tagged, names, attention).removesuffix("\n")])


def uncertain(
    model: Model,
    files: Files = None,
    from_: Annotated[
        Literal["text", "json"] | None,
        Option("--from", help="A text or a JSON object per line; json for .jsonl, otherwise text."),
    ] = None,
    most: Annotated[int | None, Option(min=1, help="How many sentences; all by default.")] = None,
    corpus: Corpus = None,
):
    """Find the sentences that a tagger is least sure of, as JSON lines to correct and to train on."""
    from keraszoo.tagging.lines import texts_of
    from keraszoo.tagging.uncertain import uncertain
    from keraszoo.text.json_spans import is_json_lines
    from keraszoo.text.lines import read_lines

    files = files or ["-"]
    console.one_thread_per_operation()
    with console.results() as write:
        tagger = load(model, corpus)
        texts = itertools.chain.from_iterable(
            texts_of(read_lines(file), from_ == "json" or (from_ is None and is_json_lines(file)), file)
            for file in files
        )
        write([json.dumps(record, ensure_ascii=False) for record in uncertain(tagger, texts, most)])


def evaluate(model, data, known, corpus, context, choice, as_json, token_column, tag_column, **columns):
    """Prints the scores of a tagger on a tagged file."""
    console.one_thread_per_operation()
    console.import_keras()
    from keraszoo.text.tagged_files import read_tagged

    columns |= {"token_column": column(token_column, 0), "tag_column": column(tag_column, -1)}
    with console.results() as write:
        tagger = load(model, corpus)
        rules = tagger.vocabulary.token_rules
        gold = read_tagged(data, rules, **columns)
        known = None if known is None else read_tagged(known, rules, **columns)
        ours, theirs = tagger.vocabulary.labels, gold.labels
        renamed = {*ours, *choice.get("mapping", ())}
        if theirs and not renamed & set(theirs):
            said = f"the tagger finds {', '.join(ours)}, the data has only {', '.join(theirs)}"
            say(f"{said}; --map OLD=NEW renames labels")
        scores = tagger.evaluate(gold, known, context=context, **choice)
        write([json.dumps(scores.as_dict()) if as_json else scores])


def plot(model, text, picture):
    """Draws the attention over the words of a text; writes a page if the path ends in .html."""
    from keraszoo.plots import html_page, save_html
    from keraszoo.tagging.lines import bracketed

    with console.results() as write:
        tagger = load(model)
        tagger.require_attention()
        tagged = tagger.tag_details([text])[0]
        if picture.endswith(".html"):
            save_html(html_page([tagged], attention=True), picture)
        else:
            tagged.plot(picture)
        write(bracketed(tagged))


def load(model, corpus=None):
    """Returns the tagger of a directory or of an included model, with the labels of one of its corpora."""
    console.import_keras()
    from keraszoo.tagging.entity_tagger import EntityTagger

    return EntityTagger.from_preset(model, corpus)


def choice_of(labels, renamed):
    """The arguments `labels` and `mapping` of a tagger for the options `--labels` and `--map`."""
    wrong = next((text for text in renamed or () if not all(text.partition("="))), None)
    if wrong is not None:
        raise KerasZooError(f"--map: expected OLD=NEW, such as PERSON=PER, got {wrong}")
    choice = (
        {} if labels is None else {"labels": [name.strip() for text in labels for name in text.split(",")]}
    )
    return choice | ({"mapping": dict(text.partition("=")[::2] for text in renamed)} if renamed else {})


def column(text, default):
    """Returns a column as the readers expect it: an int if the text is a number, otherwise a name."""
    if text is None:
        return default
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else text

"""Entities and attention as a self-contained HTML page."""

import html

from keraszoo.errors import KerasZooError
from keraszoo.plots.figures import check_weights, word_labels
from keraszoo.saving.atomic import replace_file

# For black text and colour-blind readers (Okabe and Ito 2008, lightened).
COLOURS = ("#9fd3ee", "#f6c46b", "#8fd9b6", "#f2b6d4", "#f3ea8c", "#e8a58a", "#b3b9e6", "#cfcfcf")
BLUE = "8, 81, 156"  # of the attention, as in the pictures of `keraszoo.plots`

STYLE = """
body { font-family: sans-serif; line-height: 2; margin: 2em auto; max-width: 50em; padding: 0 1em }
p { white-space: pre-wrap; overflow-wrap: anywhere }
mark { border-radius: .3em; color: inherit; padding: .15em .3em }
mark small { font-weight: bold; margin-left: .4em; opacity: .7 }
.attention span { border-radius: .2em; padding: .15em 0 }
.attention .strong { color: white }
"""


def entities_html(tagged, labels=None):
    """A `TaggedText` as an HTML paragraph with its entities marked.

    `labels` are those that get colours, in order; `None`: those in the text. Pass the same list for texts on
    one page.

    Example:

    >>> from keraszoo.tagging.results import Entity, TaggedText
    >>> tagged = TaggedText("a <cat>", [Entity("<cat>", "PET", 2, 7, 0.9, None)], [], [], [], None, [])
    >>> print(entities_html(tagged))
    <p>a <mark style="background: #9fd3ee" title="0.900">&lt;cat&gt;<small>PET</small></mark></p>
    """
    labels = labels or _labels([tagged])
    parts, place = [], 0
    for entity in tagged.entities:
        colour = COLOURS[labels.index(entity.label) % len(COLOURS)] if entity.label in labels else COLOURS[-1]
        parts.append(
            f"{_escaped(tagged.text[place : entity.start])}"
            f'<mark style="background: {colour}" title="{entity.probability:.3f}">'
            f"{_escaped(entity.text)}<small>{_escaped(entity.label)}</small></mark>"
        )
        place = entity.end
    return f"<p>{''.join(parts)}{_escaped(tagged.text[place:])}</p>"


def attention_html(tagged):
    """A text as an HTML paragraph with each word's attention weight as its colour.

    The word with the largest weight of a sentence is darkest; a word shows its weight under the pointer. A
    `TaggedText` of a model that attends to nothing raises KerasZooError.
    """
    if tagged.attention_weights is None:
        raise KerasZooError("there is no attention to show: the model attends to nothing")
    parts, place = [], 0
    for first, last in tagged.sentences:
        weights = tagged.attention_weights[first:last]
        greatest = max(map(float, weights), default=0.0)
        for token, weight in zip(tagged.tokens[first:last], weights, strict=True):
            depth = float(weight) / greatest if greatest > 0 else 0.0
            strong = ' class="strong"' if depth > 0.6 else ""
            parts.append(
                f"{_escaped(tagged.text[place : token.start])}"
                f'<span{strong} style="background: rgba({BLUE}, {depth:.2f})" title="{weight:.4f}">'
                f"{_escaped(token.text)}</span>"
            )
            place = token.end
    return f'<p class="attention">{"".join(parts)}{_escaped(tagged.text[place:])}</p>'


def attention_table(source_tokens, target_tokens, attention_weights):
    """Attention weights as an HTML table: a row for each target word, a column for each source word.

    A cell shows its weight under the pointer. The arguments are those of `attention_heatmap`.

    Example:

    >>> print(attention_table(["dog"], ["<Hund>"], [[1.0]]))
    <table>
    <tr><td></td><th style="writing-mode: vertical-rl">dog</th></tr>
    <tr><th>&lt;Hund&gt;</th><td style="background: rgba(8, 81, 156, 1.00)" title="1.000"></td></tr>
    </table>
    """
    source = word_labels("source_tokens", source_tokens)
    target = word_labels("target_tokens", target_tokens)
    weights = check_weights(attention_weights, (len(target), len(source)), "target words by source words")
    head = "".join(f'<th style="writing-mode: vertical-rl">{html.escape(name)}</th>' for name in source)
    lines = ["<table>", f"<tr><td></td>{head}</tr>"]
    for name, row in zip(target, weights, strict=True):
        cells = "".join(
            f'<td style="background: rgba({BLUE}, {weight:.2f})" title="{weight:.3f}"></td>' for weight in row
        )
        lines.append(f"<tr><th>{html.escape(name)}</th>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def html_page(texts, labels=None, attention=False, title="Entities"):
    """A page of texts, a list of `TaggedText`, with their entities and, optionally, the attention below each.

    `labels` are as for `entities_html`; `None`: those in any of the texts.
    """
    labels = labels or _labels(texts)
    head = f"<!DOCTYPE html>\n<html>\n<head><meta charset='utf-8'><title>{_escaped(title)}</title>"
    lines = [f"{head}<style>{STYLE}</style></head>", "<body>"]
    for tagged in texts:
        lines += [entities_html(tagged, labels), *([attention_html(tagged)] if attention else [])]
    return "\n".join([*lines, "</body>", "</html>", ""])


def save_html(page, path):
    """Writes a page in UTF-8, completely or not at all."""
    with replace_file(path, folders=True) as file:
        file.write(page.encode("utf-8", errors="replace"))


def _escaped(text):
    """Text in HTML, where a carriage return would be read as a line feed."""
    return html.escape(text).replace("\r", "&#13;")


def _labels(texts):
    for tagged in texts:
        if not hasattr(tagged, "entities"):
            raise KerasZooError(f"expected a TaggedText of `tag_details`, got {tagged!r:.60}")
    return sorted({entity.label for tagged in texts for entity in tagged.entities})

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
    """A text as an HTML paragraph with its entities marked.

    Args:
        tagged: a `TaggedText`.
        labels: list of str, the labels that get colours, in order; `None`: those in the text. Pass the same
            list for texts on one page.

    Returns:
        A string: `<p>...</p>`. The text is escaped.

    Raises:
        KerasZooError: `tagged` is something else.

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
        parts.append(_escaped(tagged.text[place : entity.start]))
        parts.append(
            f'<mark style="background: {colour}" title="{entity.probability:.3f}">'
            f"{_escaped(entity.text)}<small>{_escaped(entity.label)}</small></mark>"
        )
        place = entity.end
    return f"<p>{''.join(parts)}{_escaped(tagged.text[place:])}</p>"


def attention_html(tagged):
    """A text as an HTML paragraph with each word's attention weight as its colour.

    The word with the largest weight of a sentence is darkest. The weight is shown when the pointer is on a
    word.

    Args:
        tagged: a `TaggedText` of a model that attends.

    Returns:
        A string: `<p class="attention">...</p>`. The text is escaped.

    Raises:
        KerasZooError: the model attends to nothing.
    """
    if tagged.attention_weights is None:
        raise KerasZooError("there is no attention to show: the model attends to nothing")
    parts, place = [], 0
    for first, last in tagged.sentences:
        greatest = max(map(float, tagged.attention_weights[first:last]), default=0.0)
        for token, weight in zip(
            tagged.tokens[first:last], tagged.attention_weights[first:last], strict=True
        ):
            depth = float(weight) / greatest if greatest > 0 else 0.0
            strong = ' class="strong"' if depth > 0.6 else ""
            parts.append(_escaped(tagged.text[place : token.start]))
            parts.append(
                f'<span{strong} style="background: rgba({BLUE}, {depth:.2f})" title="{weight:.4f}">'
                f"{_escaped(token.text)}</span>"
            )
            place = token.end
    return f'<p class="attention">{"".join(parts)}{_escaped(tagged.text[place:])}</p>'


def attention_table(source_tokens, target_tokens, attention_weights):
    """Attention weights as an HTML table: a row for each target word, a column for each source word.

    Darker cells have more weight. The number is shown when the pointer is on a cell. The table needs no style
    sheet and no script.

    Args: as for `keraszoo.plots.attention_heatmap`.

    Returns:
        A string: `<table>...</table>`. The words are escaped.

    Raises:
        KerasZooError: the shapes do not match, the weights are not numbers from 0 to 1, or there are no
            words.

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
    """A page of texts with their entities and, optionally, the attention below each.

    Args:
        texts: list of `TaggedText`.
        labels: as for `entities_html`; `None`: those in any of the texts.
        attention: whether to show the attention.
        title: of the page.

    Returns:
        A string.

    Raises:
        KerasZooError: `attention` is set and the model attends to nothing.
    """
    labels = labels or _labels(texts)
    head = f"<!DOCTYPE html>\n<html>\n<head><meta charset='utf-8'><title>{_escaped(title)}</title>"
    lines = [f"{head}<style>{STYLE}</style></head>", "<body>"]
    for tagged in texts:
        lines.append(entities_html(tagged, labels))
        if attention:
            lines.append(attention_html(tagged))
    return "\n".join([*lines, "</body>", "</html>", ""])


def save_html(page, path):
    """Writes a page in UTF-8, completely or not at all; see `replace_file`.

    Raises:
        KerasZooError: the file cannot be written.
    """
    with replace_file(path, folders=True) as file:
        file.write(page.encode("utf-8", errors="replace"))


def _escaped(text):
    """Text in HTML, where a carriage return would be read as a line feed."""
    return html.escape(text).replace("\r", "&#13;")


def _labels(texts):
    """The labels of tagged texts, sorted."""
    for tagged in texts:
        if not hasattr(tagged, "entities"):
            raise KerasZooError(f"expected a TaggedText of `tag_details`, got {tagged!r:.60}")
    return sorted({entity.label for tagged in texts for entity in tagged.entities})

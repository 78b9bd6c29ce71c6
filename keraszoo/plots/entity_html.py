"""Entities and attention as HTML: a page that needs nothing but a browser."""

import html

from keraszoo.errors import KerasZooError
from keraszoo.saving.whole_file import whole_file

# Light enough for black text, told apart by those who see few colours, too (Okabe and Ito 2008, lightened).
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


def entities_html(found, labels=None):
    """A text as an HTML paragraph in which the entities are marked.

    Args:
        found: a `TaggedText`.
        labels: list of str, those that get colours, in their order; those that occur if not given. Pass the
            same for texts that stand beside each other.

    Returns:
        A string: `<p>...</p>`. Everything of the text is escaped.

    Example:

    >>> from keraszoo.tagging.results import Entity, TaggedText
    >>> found = TaggedText("a <cat>", [Entity("<cat>", "PET", 2, 7, 0.9, None)], [], [], [], None, [])
    >>> print(entities_html(found))
    <p>a <mark style="background: #9fd3ee" title="0.900">&lt;cat&gt;<small>PET</small></mark></p>
    """
    labels = labels or sorted({entity.label for entity in found.entities})
    parts, place = [], 0
    for entity in found.entities:
        colour = COLOURS[labels.index(entity.label) % len(COLOURS)] if entity.label in labels else COLOURS[-1]
        parts.append(html.escape(found.text[place : entity.start]))
        parts.append(
            f'<mark style="background: {colour}" title="{entity.probability:.3f}">'
            f"{html.escape(entity.text)}<small>{html.escape(entity.label)}</small></mark>"
        )
        place = entity.end
    return f"<p>{''.join(parts)}{html.escape(found.text[place:])}</p>"


def attention_html(found):
    """A text as an HTML paragraph in which each word is as dark as the attention that lay on it.

    The darkest word of a sentence is that with its greatest weight; the weight itself is shown when the
    pointer rests on a word.

    Args:
        found: a `TaggedText` of a model that attends.

    Returns:
        A string: `<p class="attention">...</p>`. Everything of the text is escaped.

    Raises:
        KerasZooError: the model attends to nothing.
    """
    if found.attention_weights is None:
        raise KerasZooError("there is no attention to show: the model attends to nothing")
    parts, place = [], 0
    for first, last in found.sentences:
        greatest = max(map(float, found.attention_weights[first:last]), default=0.0)
        for token, weight in zip(found.tokens[first:last], found.attention_weights[first:last], strict=True):
            depth = float(weight) / greatest if greatest > 0 else 0.0
            strong = ' class="strong"' if depth > 0.6 else ""
            parts.append(html.escape(found.text[place : token.start]))
            parts.append(
                f'<span{strong} style="background: rgba({BLUE}, {depth:.2f})" title="{weight:.4f}">'
                f"{html.escape(token.text)}</span>"
            )
            place = token.end
    return f'<p class="attention">{"".join(parts)}{html.escape(found.text[place:])}</p>'


def html_page(texts, labels=None, attention=False, title="Entities"):
    """A whole page: texts with their entities and, if asked for, the attention below each.

    Args:
        texts: list of `TaggedText`.
        labels: as for `entities_html`; those that occur in any of the texts if not given.
        attention: whether to show the attention, too.
        title: of the page.

    Returns:
        A string.

    Raises:
        KerasZooError: attention is asked of a model that has none.
    """
    labels = labels or sorted({entity.label for found in texts for entity in found.entities})
    head = f"<!DOCTYPE html>\n<html>\n<head><meta charset='utf-8'><title>{html.escape(title)}</title>"
    lines = [f"{head}<style>{STYLE}</style></head>", "<body>"]
    for found in texts:
        lines.append(entities_html(found, labels))
        if attention:
            lines.append(attention_html(found))
    return "\n".join([*lines, "</body>", "</html>", ""])


def save_html(page, path):
    """Writes a page in UTF-8, all of it or nothing: see `whole_file`.

    Raises:
        KerasZooError: the disk refuses.
    """
    with whole_file(path, folders=True) as file:
        file.write(page.encode("utf-8", errors="replace"))

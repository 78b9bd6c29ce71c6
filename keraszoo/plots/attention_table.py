"""The attention heat map as an HTML table, for notebooks."""

import html

from keraszoo.plots.entity_html import BLUE
from keraszoo.plots.figures import check_weights, word_labels


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

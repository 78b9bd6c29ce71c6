"""Pictures of attention and of scores by length (matplotlib), and of entities in their text (HTML)."""

from keraszoo.plots.attention_strip import attention_strip
from keraszoo.plots.by_length import length_plot
from keraszoo.plots.entity_html import attention_html, entities_html, html_page, save_html
from keraszoo.plots.heatmap import attention_heatmap

__all__ = [
    "attention_heatmap",
    "attention_html",
    "attention_strip",
    "entities_html",
    "html_page",
    "length_plot",
    "save_html",
]

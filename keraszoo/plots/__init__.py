"""Pictures of attention and of scores (matplotlib), and of entities in their text (HTML)."""

from keraszoo.plots.curves import history_plot, length_plot
from keraszoo.plots.entity_html import attention_html, attention_table, entities_html, html_page, save_html
from keraszoo.plots.heatmap import attention_heatmap, attention_sheet
from keraszoo.plots.reliability import reliability_plot

__all__ = [
    "attention_heatmap",
    "attention_html",
    "attention_sheet",
    "attention_table",
    "entities_html",
    "history_plot",
    "html_page",
    "length_plot",
    "reliability_plot",
    "save_html",
]

"""Translation: `Translator`, its recipe, training, compiled search and export."""

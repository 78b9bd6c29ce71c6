"""Text in, text out: translators, and the recipes that train them."""

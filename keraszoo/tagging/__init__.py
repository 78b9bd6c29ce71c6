"""Named entities: `EntityTagger`, its recipe, training, compiled tagging and export."""

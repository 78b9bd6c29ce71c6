"""Find, list and fetch models by name, and write the index of the included ones."""

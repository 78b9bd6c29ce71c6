"""Recipes: the YAML file, its sections, how a recipe runs, and `init`, which writes a first one."""

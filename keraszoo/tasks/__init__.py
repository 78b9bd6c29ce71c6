"""What the tasks share: the base class with its training path, recipes, export."""

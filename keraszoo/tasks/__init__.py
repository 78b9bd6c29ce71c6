"""What the tasks share: the base class with its training path, and export."""

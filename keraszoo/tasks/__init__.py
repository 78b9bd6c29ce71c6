"""What the three tasks share: recipes, training, directories, export."""

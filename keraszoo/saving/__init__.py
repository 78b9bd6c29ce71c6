"""Write files and model directories in one step, verify them, and write model cards."""

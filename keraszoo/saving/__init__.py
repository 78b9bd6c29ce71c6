"""What is written to the disk and read back: a model's directory, whole or not at all, and its card."""

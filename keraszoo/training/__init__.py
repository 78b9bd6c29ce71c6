"""What `fit` is given: batches, losses, schedules, metrics."""

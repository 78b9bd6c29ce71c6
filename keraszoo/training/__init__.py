"""What `fit` needs: batches, losses, schedules, checkpoints, distribution."""

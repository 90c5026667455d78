"""A training run: the loop, outer steps, checkpoints, progress."""

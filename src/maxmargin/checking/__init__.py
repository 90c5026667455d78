"""Checks of a structure before training."""

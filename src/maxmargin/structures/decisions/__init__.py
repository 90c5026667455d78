"""Decisions of an optimiser whose costs are linear in features."""

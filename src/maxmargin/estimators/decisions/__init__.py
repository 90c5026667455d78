"""Costs of optimisers."""

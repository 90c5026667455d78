"""Choices of items within a capacity."""

"""Segmentations and clusterings."""

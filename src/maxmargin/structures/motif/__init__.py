"""Strings with a motif at an unknown position."""

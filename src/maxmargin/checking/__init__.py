"""Checks of a structure before it is trained."""

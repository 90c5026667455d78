"""Shortest and longest paths."""

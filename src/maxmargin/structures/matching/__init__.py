"""Matchings of general graphs, perfect and not."""

"""Taggers and parsers."""

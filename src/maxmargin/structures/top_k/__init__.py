"""The k documents on top of a ranking."""

"""The top k documents of a ranking."""

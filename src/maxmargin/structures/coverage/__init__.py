"""Sets of candidates that cover most."""

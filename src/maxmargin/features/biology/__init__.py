"""Sequences of letters, alignments and secondary structures."""

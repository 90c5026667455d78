"""Pairwise alignments of sequences."""

"""Alignments against all alignments of short sequences, with features, gaps and losses in plain Python."""

from alignment_instances import Alignments
from conformance import StructureConformance


class TestAlignment(StructureConformance):
    n_checked = 3

    def instance(self, seed):
        return Alignments(seed)

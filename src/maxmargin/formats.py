"""Readers and writers of common file formats: columns, rows, sequences, trees, alignments, structures of RNA."""

from maxmargin.io.formats.conll import ColumnReader, Sentence, read_conll, write_conll
from maxmargin.io.formats.crfsuite import read_crfsuite
from maxmargin.io.formats.ct import read_ct, write_ct
from maxmargin.io.formats.dot_bracket import FoldedSequence, read_dot_bracket, write_dot_bracket
from maxmargin.io.formats.fasta import FastaRecord, read_aligned_fasta, read_fasta, read_fasta_pairs, write_fasta
from maxmargin.io.formats.streams import FormatError
from maxmargin.io.formats.svmhmm import read_svmhmm
from maxmargin.io.formats.svmlight import read_letor, read_svmlight
from maxmargin.io.formats.trees import read_trees, write_trees

__all__ = [
    "ColumnReader",
    "FastaRecord",
    "FoldedSequence",
    "FormatError",
    "Sentence",
    "read_aligned_fasta",
    "read_conll",
    "read_crfsuite",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_fasta_pairs",
    "read_letor",
    "read_svmhmm",
    "read_svmlight",
    "read_trees",
    "write_conll",
    "write_ct",
    "write_dot_bracket",
    "write_fasta",
    "write_trees",
]

"""Readers and writers of common file formats: columns, rows, rankings, sequences, trees, alignments, RNA."""

from maxmargin.formats.bpseq import read_bpseq, write_bpseq
from maxmargin.formats.conll import ColumnReader, Sentence, read_conll, write_conll
from maxmargin.formats.crfsuite import read_crfsuite
from maxmargin.formats.ct import read_ct, write_ct
from maxmargin.formats.dot_bracket import FoldedSequence, read_dot_bracket, write_dot_bracket
from maxmargin.formats.fasta import FastaRecord, read_aligned_fasta, read_fasta, read_fasta_pairs, write_fasta
from maxmargin.formats.matrices import write_jaspar, write_meme, write_substitution_matrix
from maxmargin.formats.stockholm import read_stockholm
from maxmargin.formats.structures import read_structures
from maxmargin.formats.svmhmm import read_svmhmm
from maxmargin.formats.svmlight import read_letor, read_svmlight
from maxmargin.formats.trec import read_trec_qrels, write_trec_run
from maxmargin.formats.trees import read_trees, write_trees

__all__ = [
    "ColumnReader",
    "FastaRecord",
    "FoldedSequence",
    "Sentence",
    "read_aligned_fasta",
    "read_bpseq",
    "read_conll",
    "read_crfsuite",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_fasta_pairs",
    "read_letor",
    "read_stockholm",
    "read_structures",
    "read_svmhmm",
    "read_svmlight",
    "read_trec_qrels",
    "read_trees",
    "write_bpseq",
    "write_conll",
    "write_ct",
    "write_dot_bracket",
    "write_fasta",
    "write_jaspar",
    "write_meme",
    "write_substitution_matrix",
    "write_trec_run",
    "write_trees",
]

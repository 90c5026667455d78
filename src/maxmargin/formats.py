"""Readers and writers of common file formats: CoNLL columns, CRFsuite, SVM-hmm sequences, svmlight rows."""

from maxmargin.io.formats.conll import ColumnReader, Sentence, read_conll, write_conll
from maxmargin.io.formats.crfsuite import read_crfsuite
from maxmargin.io.formats.streams import FormatError
from maxmargin.io.formats.svmhmm import read_svmhmm
from maxmargin.io.formats.svmlight import read_svmlight

__all__ = [
    "ColumnReader",
    "FormatError",
    "Sentence",
    "read_conll",
    "read_crfsuite",
    "read_svmhmm",
    "read_svmlight",
    "write_conll",
]

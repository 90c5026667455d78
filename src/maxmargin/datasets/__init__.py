"""Generated data, and loaders of public data sets that are fetched at first use."""

from maxmargin.datasets.generate import make_chains, make_multiclass
from maxmargin.datasets.real import load_conll2002, load_ocr_letters
from maxmargin.datasets.rna import make_rna

__all__ = ["load_conll2002", "load_ocr_letters", "make_chains", "make_multiclass", "make_rna"]

"""Data to try things on: generated ones, always there, and loaders of real ones that are not part of the package."""

from maxmargin.datasets.generate import make_chains, make_multiclass
from maxmargin.datasets.real import load_conll2002, load_ocr_letters

__all__ = ["load_conll2002", "load_ocr_letters", "make_chains", "make_multiclass"]

"""Data to try things on: generated ones, always there, and loaders of real ones that are not part of the package."""

from maxmargin.datasets.coref_gum import load_coref_gum
from maxmargin.datasets.generate import make_chains, make_multiclass
from maxmargin.datasets.ohsumed import load_ohsumed, ohsumed_fold
from maxmargin.datasets.real import load_conll2002, load_ocr_letters
from maxmargin.datasets.yeast_ars import load_yeast_ars

__all__ = [
    "load_conll2002",
    "load_coref_gum",
    "load_ocr_letters",
    "load_ohsumed",
    "load_yeast_ars",
    "make_chains",
    "make_multiclass",
    "ohsumed_fold",
]

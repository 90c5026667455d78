"""Data sets of the benchmarks that cannot be downloaded: they are read from the directory in MAXMARGIN_DATA."""

from benchmarks.data.coref_gum import load_coref_gum
from benchmarks.data.ohsumed import load_ohsumed, ohsumed_fold
from benchmarks.data.yeast_ars import load_yeast_ars

__all__ = ["load_coref_gum", "load_ohsumed", "load_yeast_ars", "ohsumed_fold"]

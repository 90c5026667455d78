"""Clusterings by a latent spanning forest.

Parts are links between two items; the code of an output is the links of its forest, and the partition follows from it.
A partition does not determine its forest, so the forest of the truth is latent: completions are spanning forests within
the true clusters, and the first one is a chain through each cluster. The loss is a sum over links, and every argmax is
a maximum spanning forest (`algorithms/spanning_forest.py`). Examples are on the parts layer; the structure is not,
because k best partitions and their explanation by links have no meaning.
"""

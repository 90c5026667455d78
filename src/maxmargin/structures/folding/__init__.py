"""Secondary structures of RNA without pseudoknots.

The parts of `Folding` are its weights, one table that all examples share. A part counts as often as a structure has its
term: `terms.py` names the terms and the letters and lengths they belong to, `_counts.py` counts them. The loss is a sum
over pairs of bases, which are not parts; it is two numbers per example, added to true and to other pairs inside the
recursion, and no table of n² costs exists.

`_jit.py` fills three packed tables from the last row to the first. All loops over columns are elementwise
(`_loops.py`), and compilers vectorise them. The score of an interior loop beyond 4 × 4 depends on length and asymmetry
alone, and the best loop of each length follows from that of the pair inside. No back pointers are kept: the trace lists
the derivations of each node that it visits (`options`) and takes the best. Every structure has exactly one derivation,
so the same lists, sorted, rank all structures best first (`ranking.py`). A true structure with pairs that no prediction
has is projected by the same recursion, with a reward for its pairs and −∞ for all others.
"""

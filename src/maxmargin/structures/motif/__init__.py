"""Strings with a motif at an unknown position.

The code of an output is its site: strand and position, or −1 for no motif. The position is latent: completions of a
positive string are all its sites, and `_jit.py` scans for the best one. A search from random positions mostly ends at
weights that find no motif, so `words.py` finds words that discriminate positive from negative strings, as starting
points. `Motif` keeps compiled code of its own, which is faster than the parts layer, and offers `scores`,
`decode_scores` and `changes` besides.
"""

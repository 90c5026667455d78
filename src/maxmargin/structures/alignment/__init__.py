"""Pairwise alignments of sequences, and a homologue among decoys.

The code of an alignment is the partner of each position of the first sequence, and two orders at semi-global ends. Its
parts are cells, positions opposite a gap (open, extend), and unaligned positions at free ends, which have no weights.
Every position of both sequences has exactly one part, so a cost of every match is a reward of every unmatched position:
each loss is a few cells near the truth and a number per position, and is never stored as a table. A part is forced by
forbidding all other parts of its positions; the k best outputs need no large bonus.

`recursion.py`
    The recursion over cells, row by row. Of its states M, E and F, F is never followed by E: a set of matches has one
    path, which is exact for scores of any sign. A cell has 4 or 6 trace bits; 16 or 10 rows share one 64-bit word per
    column.
`_cell_scores.py`, `cells.py`
    Scores of all cells from integer keys of positions (`features/biology/position_fields.py`). A template is a row key
    and a column key. Rows with equal keys are gathered once; coarse groups are added to finer ones first, or joined if
    their keys stay few.
`_jit.py`, `examples.py`
    A decode scores, aligns and judges one pair after the other in the same memory; `scores`, `decode_scores` and
    `changes` are the two halves of it.
`decoys.py`, `decoy_examples.py`
    `Decoys`: all pairs of a native sequence and its candidates, encoded by `Alignment`.

If both sequences are of one kind, the weights of a template and of its mirror image are tied (`PositionEncoder.tied`):
sums of features add to the tied weight, and `Layout.spread` writes tied weights out before tables are scored. With
``core=True``, examples have a second code, the truth without unreliable matches, which losses and costs read; the truth
itself stays whole.
"""

"""Kernels on the features of parts, as explicit features that every structure and solver can use.

A kernel is a matter of encoding. An encoder of rows (`KernelRows` in `on_rows.py`: `SequenceEncoder`, or
`MatrixEncoder` for a matrix with one row per example) may hold a `PartKernel` (`kernel.py`), which turns the rows of
all distinct parts into rows of other features, and does the same for new parts. Blocks, argmaxes, planes and solvers
are not involved: they see an ordinary linear problem with the same certificate.

`points.py`, `gram.py`
    Exact: rows L of the factor K = L Lᵀ of the Gram matrix of distinct parts; new parts x have L_P⁻¹ k(P, x), with the
    pivots P of the factor. Or landmarks Z: k(x, Z) U S^(−1/2), for new parts too.
`explicit.py`
    ``"poly"`` of degree 2: products of two features, exact; new parts have the products that occur in the training
    data. Or a tensor sketch of ``"poly"``, with the same hashes for new parts.

A structure opts in: its `kernel_rows` names the encoders whose rows a kernel may replace, and their tables of weights;
the rest is written once, in `Compiled`. A block with lower bounds on weights (rewards of `Cut`) stays linear, as do
tables and constants. An estimator calls `Compiled.use_kernel` on its clone before `fit_encode`, and `Compiled.expanded`
after the fit: weights v in the coordinates of the fit become β = L_P⁻ᵀ v, the factor is dropped, and points with
negligible β with it. So a fitted structure has kernel values as features and β as weights; saving, `explain`, `topk`
and names need nothing else. The best weights also contain planes that the solver has dropped: `prefer_support` first
projects them onto the parts of support planes, decodes all examples, and keeps the result if the certificate stays
within `tol`. The state of the solver, checkpoints and `support_` are in the coordinates of the fit. Predictions encode
a few examples at a time, which bounds the memory of kernel values.
"""

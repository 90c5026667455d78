"""Joint convex programs in the weights and in the prices of all examples (Taskar et al. 2005).

The hinge of an example is a linear program over the counts of its parts (`core.polytopes`). With the dual of this
program in its place, learning is one quadratic program:

    min  ½‖w‖² + Σ C c_i (b_i·u_i − (Φ_i w + l_i)·c(y_i))      subject to      A_iᵀ u_i ≥ Φ_i w + l_i

`standard.py` brings polytopes into the form A z = b, 0 ≤ z ≤ upper, `program.py` assembles all examples, `interior.py`
is an interior-point method for this shape, `general.py` solves the same program with a general solver, and `solver.py`
has the solvers ``"minmax"`` and ``"certificate"``.
"""

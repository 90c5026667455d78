"""Min-max programs in the weights and in the prices of all examples (Taskar et al. 2005).

These solvers do not combine planes. `Examples.polytope` gives {z : low ≤ A z ≤ high, lower ≤ z ≤ upper} over the counts
of parts, followed by auxiliary variables (`core.polytopes`), and the hinge of an example is a linear program over it.
With the dual of this program in its place, learning is one quadratic program:

    min  ½‖w‖² + Σ C c_i (b_i·u_i − (Φ_i w + l_i)·c(y_i))      subject to      A_iᵀ u_i ≥ Φ_i w + l_i

It is solved in the space of dual masses z_i = C c_i · (a point of the polytope), where fixed scores and the centre w₀
are gains of parts, and lower bounds are multipliers of weights.

`standard.py`
    One example as A v = b, 0 ≤ v ≤ upper: forbidden and fixed parts are left out, other limits shifted, slack variables
    added; steps of √Δ for quadratic slack.
`program.py`
    All examples. The dual mass M_i is one more variable with quadratic slack or a hard margin. Redundant rows are left
    out, examples of the same shape share one array, and features have as few columns as possible.
`interior.py`
    Predictor and corrector steps: QR of √Θ Aᵀ for each example, Cholesky of I + Fᵀ√Θ P √Θ F; masses are repaired to
    feasibility.
`general.py`
    The same program, sparse, by Clarabel.
`solver.py`
    ``"minmax"`` and ``"certificate"``: checks, memory, steps; the objective by argmaxes, the lower bound from repaired
    masses.

A certificate of optimality (`Examples.certificate_polytope`) is a polytope too: that of the multipliers of its
constraints. If polytopes have vertices that are not outputs, the lower bound on the program is not one on the
objective: it becomes `Certificate.relaxation`, and `dual` follows from aggregate planes of the outputs found
(`solvers.cutting`).
"""

"""Bounds on the loss, which turn planes into those that solvers use.

Margin and slack re-scaling are convex (`rescaling.py`). If a structure has no exact argmax for a bound, a search over
the scale of the loss takes its place (`search.py`), with a proven upper bound on what it may have missed, which
`remaining_outputs.py` closes.

A ramp (Do et al. 2008) and latent variables (Yu and Joachims 2009) subtract a second maximum, which makes the objective
a difference of convex functions:

    J(w) = ½‖w‖² + C Σ c_i (max_ŷ (b − a·w) − max_ỹ (−ã·w))

With the maximiser ỹ_i of the second part fixed, the **reference**, the rest is a hinge again, because the difference of
two planes is a plane: (a − ã_i, b − b̃_i). The reference is then the plane (0, 0), as the truth is otherwise; the
truth, where it is not the reference, becomes a plane like others. So `Problem` subtracts the references
(`References`) from what `Examples` return and adds the constant Σ C c_i b̃_i to the certificate. Structures are not
involved, and examples keep the truth they were encoded with: a change of references encodes nothing again. Of the
solvers, only working sets are involved, whose planes are shifted when references change (`WorkingSets.rebase`); others
start again from the weights. The same code serves the ramp of margin re-scaling (ỹ is the prediction), the ramp of
slack re-scaling (ỹ maximises Δ · rise, exactly or by search) and latent variables (ỹ is the best completion of the
truth), for built-in and user-defined structures. `training.cccp` is the loop over references.
"""

from maxmargin.bounds.rescaling import BOUNDS, Bound, NamedBound
from maxmargin.bounds.search import search_over_scale

__all__ = ["BOUNDS", "Bound", "NamedBound", "search_over_scale"]

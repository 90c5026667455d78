"""The min-max program of all examples, in the space of dual masses of parts.

    max  gains·z − Σ curvature z² / 2 − h(c − Fᵀz) + constant      subject to      A z = b,  0 ≤ z ≤ upper

Each z_i is C c_i times a point of the polytope of its example (or M_i times, with M_i as one more variable), c − Fᵀz is
Σ α a of the planes that z combines, and h is ½‖·‖² or its counterpart for lower bounds (`core.lower_bounds`). A is
block diagonal. The multipliers of A z = b are the prices of the min-max program of Taskar et al. 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Place
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.polytopes import Polytope
from maxmargin.core.structure import StructureError
from maxmargin.problem import Problem
from maxmargin.solvers.minmax.standard import PartProgram, StandardForm, independent, standard_form

#: Eigenvalues of inner products of features, relative to the largest, that count as 0.
RANK = 1e-13
#: Remainder of a constraint, relative to its terms, that counts as rounding error.
ROUNDING = 1e-12

#: The polytope of an example, and whether its vertices are outputs.
Choice = Callable[[Problem, int], tuple[Polytope, bool]]


@dataclass(frozen=True)
class Group:
    """Examples whose constraints have the same shape.

    Attributes
    ----------
    variables : ndarray of int64 of shape (n, m)
        Places of the variables of each example.
    prices : ndarray of int64 of shape (n, k)
        Places of its constraints.
    A : ndarray of shape (n, k, m)
        Coefficients.
    """

    variables: IntArray
    prices: IntArray
    A: FloatArray


class MinMaxProgram:
    """All examples of a problem as one program.

    Parameters
    ----------
    problem : Problem
        The problem.
    choose : callable
        Returns the polytope of an example, and whether its vertices are outputs.
    dense : bool
        Whether to write the constraints of each example as a dense matrix without redundant rows, in groups.

    Attributes
    ----------
    groups : list of Group
        The constraints A, if dense.
    A : csr_array or None
        The constraints A, if not dense.
    b, upper, gains, curvature : ndarray
        Right-hand sides, upper limits, gains and curvatures.
    features : csr_array of shape (variables, dim)
        F.
    centre : ndarray of shape (dim,)
        c.
    constant : float
        Constant of the objective.
    ids : ndarray of int64
        The examples with a positive weight.
    masses : ndarray of int64 of shape (len(ids),)
        Place of the variable M of each example; −1 if its dual mass is fixed.
    relaxed : bool
        Whether the hinges of the program may be larger than those of the outputs.
    """

    def __init__(self, problem: Problem, choose: Choice, dense: bool) -> None:
        objective = problem.objective
        self.ids = np.flatnonzero(objective.weights > 0)
        n = len(self.ids)
        self.by_mass = objective.quadratic or objective.hard
        self.budgets = np.ones(n) if self.by_mass else objective.budgets[self.ids]
        self.relaxed = not problem.examples.integral
        self.masses = np.full(n, -1)
        forms = self._forms(problem, choose, dense)
        blocks = [self._block(form) for form in forms]
        if dense:
            known: dict[bytes, IntArray] = {}
            for i, (form, block) in enumerate(zip(forms, blocks, strict=True)):
                kept = independent(block, known)
                blocks[i], forms[i] = block[kept], replace(form, b=form.b[kept])
        sizes = np.array([len(form.gains) + self.by_mass for form in forms], np.int64)
        ranks = np.array([len(form.b) for form in forms], np.int64)
        self.firsts, self.rows = (offsets_of(counts) for counts in (sizes, ranks))
        if self.by_mass:
            self.masses = self.firsts[1:] - 1
        self.b = np.zeros(int(ranks.sum()))
        if not self.by_mass:
            self.b = _joined([form.b * scale for form, scale in self._scaled(forms)])
        self.upper = _joined([self._upper(form, scale) for form, scale in self._scaled(forms)])
        self.gains = _joined([self._with_mass(form.gains, -form.truth_gain) for form in forms])
        self.curvature = np.zeros(len(self.gains))
        if objective.quadratic:
            self.curvature[self.masses] = objective.ridges[self.ids]
        rows = [form.features for form in forms]
        if self.by_mass:
            masses = [-form.truth_features for form in forms]
            rows = [row for both in zip(rows, masses, strict=True) for row in both]
        self.features = sp.csr_array(sp.vstack([*rows, sp.csr_array((0, problem.dim))]))
        self.centre, self.constant = np.zeros(problem.dim), 0.0
        if not self.by_mass:
            for form, budget in self._scaled(forms):
                self.centre[form.truth_features.indices] += budget * form.truth_features.data
                self.constant -= budget * form.truth_gain
        self.groups = self._grouped(blocks) if dense else []
        self.A = None if dense else sp.csr_array(sp.block_diag(blocks))

    def _forms(self, problem: Problem, choose: Choice, dense: bool) -> list[StandardForm]:
        examples, forms = problem.examples, []
        at, root = problem.weights(np.zeros(problem.dim)), problem.bound.slack == "quadratic"
        for i in self.ids.tolist():
            polytope, whole = choose(problem, i)
            scores, costs, truth = examples.part_gains(at, i)
            if root and examples.one_part:
                costs = np.sqrt(costs)
            if polytope.A.shape[1] < len(truth):
                raise StructureError.at(
                    Place("X", i),
                    f"its polytope has {polytope.A.shape[1]} columns, expected one for each of {len(truth)} parts",
                )
            part = PartProgram(polytope, examples.part_features(i), scores, costs, truth)
            form, exact = standard_form(part, root and not examples.one_part, self.by_mass, dense)
            self.relaxed = self.relaxed or not (whole and exact)
            forms.append(form)
        return forms

    def _scaled(self, forms: list[StandardForm]) -> Any:
        return zip(forms, self.budgets.tolist(), strict=True)

    def _upper(self, form: StandardForm, scale: float) -> FloatArray:
        return self._with_mass(form.upper * scale, np.inf)

    def _with_mass(self, values: FloatArray, last: float) -> FloatArray:
        return np.append(values, last) if self.by_mass else values

    def _block(self, form: StandardForm) -> Any:
        """Return the constraints of an example; a dual mass M is one more column."""
        if not self.by_mass:
            return form.A
        mass = -form.b[:, None]
        return np.hstack([form.A, mass]) if isinstance(form.A, np.ndarray) else sp.csr_array(sp.hstack([form.A, mass]))

    def _grouped(self, blocks: list[FloatArray]) -> list[Group]:
        """Return the constraints, examples of the same shape together."""
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for i, block in enumerate(blocks):
            by_shape.setdefault(block.shape, []).append(i)
        return [
            Group(
                self.firsts[ids][:, None] + np.arange(m), self.rows[ids][:, None] + np.arange(k),
                np.array([blocks[i] for i in ids]),
            )
            for (k, m), ids in by_shape.items()
        ]  # fmt: skip

    # ------------------------------------------------------------------ products

    def constraints(self, z: FloatArray) -> FloatArray:
        """Return A z."""
        if self.A is not None:
            return np.asarray(self.A @ z)
        out = np.zeros(len(self.b))
        for group in self.groups:
            out[group.prices] = np.matmul(group.A, z[group.variables][..., None])[..., 0]
        return out

    def priced(self, prices: FloatArray) -> FloatArray:
        """Return Aᵀ u."""
        out = np.zeros(len(self.gains))
        for group in self.groups:
            out[group.variables] = np.matmul(prices[group.prices][:, None], group.A)[:, 0]
        return out

    def size(self, z: FloatArray) -> float:
        """Return the size of the terms of A z = b."""
        return float(max(np.abs(self.b).max(initial=0.0), np.abs(z).max(initial=0.0)))

    def dual(self, problem: Problem, z: FloatArray) -> float:
        """Return the dual objective at dual masses that satisfy all constraints."""
        u = self.centre - self.features.T @ z
        masses = np.zeros(problem.n_examples)
        masses[self.ids] = z[self.masses] if self.by_mass else self.budgets
        return problem.objective.dual(float(self.gains @ z) + self.constant, u, masses)


def _joined(arrays: list[FloatArray]) -> FloatArray:
    """Return the arrays, of which there may be none, one after the other."""
    return np.concatenate([*arrays, np.zeros(0)])


class Reduced:
    """Features in as few columns as possible: without columns of zeros, and of the rank of F if that is smaller.

    Weights outside of the span of F are 0 at the optimum, so w = map(v) with F w = G v and ‖w‖ = ‖v‖. With lower
    bounds, columns stay as they are.
    """

    def __init__(self, program: MinMaxProgram, lower: FloatArray | None) -> None:
        F = program.features
        self.dim = F.shape[1]
        used = np.zeros(self.dim, bool)
        used[F.indices] = True
        used |= program.centre != 0.0
        self.columns, self.basis = np.flatnonzero(used), None
        self.lower = None if lower is None else lower[self.columns]
        self.rest = np.zeros(self.dim) if lower is None else np.maximum(lower, 0.0)
        self.rest[self.columns] = 0.0
        rows = F[:, self.columns]
        distinct = np.flatnonzero(np.diff(F.indptr))
        bounded = self.lower is not None and bool(np.isfinite(self.lower).any())
        self.centre = program.centre[self.columns]
        if bounded or len(self.columns) <= len(distinct) + 1:
            self.features = rows.toarray()
            return
        known = sp.csr_array(sp.vstack([rows[distinct], sp.csr_array(self.centre[None])]))
        values, vectors = np.linalg.eigh((known @ known.T).toarray())
        kept = values > RANK * values[-1]
        self.basis = known.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        self.features, self.centre = rows @ self.basis, self.centre @ self.basis
        self.lower = None

    def weights(self, v: FloatArray) -> FloatArray:
        """Return the weights w of v."""
        w = self.rest.copy()
        w[self.columns] = v if self.basis is None else self.basis @ v
        return w

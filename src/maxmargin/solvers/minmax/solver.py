"""The solvers ``"minmax"`` and ``"certificate"``: one min-max program of all examples (Taskar et al. 2005)."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from maxmargin._base.errors import callers_level
from maxmargin._base.jit import working_seconds
from maxmargin._base.types import FloatArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.examples import Examples
from maxmargin.core.polytopes import Polytope
from maxmargin.core.structure import Compiled
from maxmargin.problem import OutOfTime, Problem
from maxmargin.solvers.base import Solver
from maxmargin.solvers.cutting.oneslack import CuttingState, add_plane
from maxmargin.solvers.hard_margin import NotSeparableError, feasible_scale
from maxmargin.solvers.minmax.general import load_clarabel, repaired, solve_general
from maxmargin.solvers.minmax.interior import Interior, Point
from maxmargin.solvers.minmax.program import MinMaxProgram, Reduced

#: Number of examples whose polytopes are looked at to estimate the memory of all.
SAMPLE = 24
#: Length of a step of the interior-point method below which it has come to its end.
STALLED = 1e-6
#: Margin of weights of length 1, relative to the largest gain and length of features, below which data count as not
#: separable, during a run and after its last step.
LEAST_MARGIN, LEAST_LAST_MARGIN = 1e-7, 1e-4
#: Mean number of entries in dense constraints, per example, above which the general solver is used, if installed.
LARGE_BLOCK = 1e6
#: Memory of the general solver for each variable (measured on flows of chains).
GENERAL_BYTES = 2000.0
#: How min-max programs are solved.
METHODS = ("auto", "interior", "general")
#: Certificates of matchings.
FORMS = ("prices", "distances", "odd-sets")
#: Aggregate planes that prove a lower bound where the program is a relaxation.
MOST_PLANES = 100


class RelaxationWarning(UserWarning):
    """Warning that a min-max program minimises an upper bound on the objective.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.assignments()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = mm.StructuralSVM(mm.BipartiteMatching(), slack="quadratic", solver="minmax").fit(X, Y)
    >>> [warning.category.__name__ for warning in caught]
    ['RelaxationWarning', 'ConvergenceWarning']
    """


class MinMaxState(CuttingState):
    """Iterate of the interior-point method; and, for relaxations, aggregate planes of the outputs found.

    Attributes
    ----------
    program : MinMaxProgram
        The program, made from the problem.
    z, u, s, t, lift, v : ndarray
        The iterate (`interior.Point`).
    relaxed_dual : float
        Best lower bound on the optimum of the relaxation; minus infinity if the program is not a relaxation.
    """

    _saved: ClassVar[tuple[str, ...]] = ("v", "z", "u", "s", "t", "lift")
    _counters: ClassVar[tuple[str, ...]] = ("relaxed_dual",)

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None, program: MinMaxProgram) -> None:
        super().__init__(problem, seed, start, MOST_PLANES if program.relaxed else 2, 50)
        self.program = program
        self.relaxed_dual = -np.inf
        self.v = self.z = self.u = self.s = self.t = self.lift = np.zeros(0)
        self.interior: Interior | None = None

    def use(self, interior: Interior) -> None:
        """Start the interior-point method."""
        self.interior, self.point = interior, interior.start()

    @property
    def point(self) -> Point:
        return Point(self.v, self.z, self.u, self.s, self.t, self.lift)

    @point.setter
    def point(self, point: Point) -> None:
        for name, value in vars(point).items():
            setattr(self, name, value)

    def certificate(self, problem: Problem) -> Certificate:
        certificate = super().certificate(problem)
        if not self.program.relaxed:
            return certificate
        return replace(certificate, relaxation=max(float(self.relaxed_dual + problem.offset), certificate.dual))


@dataclass(frozen=True)
class MinMaxSolver(Solver):
    """Base of solvers of min-max programs."""

    hard_margin: ClassVar[bool] = True
    lower_bounds: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 200
    lowest: ClassVar[Mapping[str, int | float]] = {"accuracy": 1e-14}
    stricter: ClassVar[str] = "use solver='auto', which minimises the objective itself to any tol"

    method: str = "auto"
    accuracy: float = 1e-10

    def check_parameters(self) -> None:
        super().check_parameters()
        self._check_choice("method", METHODS)
        if self.method == "general":
            load_clarabel()

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        if getattr(self, name) not in choices:
            named = ", ".join(map(repr, choices))
            raise ValueError(f"{type(self).__name__}: {name} must be one of {named}, found {getattr(self, name)!r}")

    @abstractmethod
    def polytope(self, problem: Problem, example: int) -> tuple[Polytope, bool]:
        """Return the polytope of an example, and whether its vertices are outputs."""

    @property
    @abstractmethod
    def offered(self) -> str:
        """Name of the method of `Examples` that makes polytopes."""

    def _offers(self, examples: Examples) -> bool:
        return getattr(type(examples), self.offered) is not getattr(Examples, self.offered)

    def check(self, problem: Problem) -> None:
        super().check(problem)
        examples = problem.examples
        structure = getattr(examples, "structure", None)
        named = isinstance(structure, Compiled)
        what = type(structure).__name__ if named else type(examples).__name__.removesuffix("Examples")
        if not self._offers(examples):
            raise ValueError(f"solver={self.name!r} cannot solve {what}: {self.reason(what)}; use solver='auto'")
        if problem.bound.rescaling != "margin":
            raise ValueError(
                f"solver={self.name!r} needs bound='margin', found {problem.bound.rescaling!r}: slack re-scaling "
                f"multiplies scores by the loss, which is not linear in parts; use solver='auto'"
            )
        if problem.references is not None or examples.latent:
            raise ValueError(f"solver={self.name!r} needs a convex bound without latent variables; use solver='auto'")
        if self._known_to_relax(problem):
            self._warn(problem)

    def _known_to_relax(self, problem: Problem) -> bool:
        """Return whether the program is a relaxation, as far as some examples tell."""
        examples = problem.examples
        root = problem.bound.slack == "quadratic" and not examples.one_part
        return root or not examples.integral or not all(self.polytope(problem, i)[1] for i in self._sample(problem))

    def _warn(self, problem: Problem) -> None:
        warnings.warn(
            f"solver={self.name!r} minimises an upper bound on the objective: {self.why_relaxed(problem)}; "
            f"certificate_ says how far the weights are from the optimum, and solver='auto' finds it",
            RelaxationWarning,
            stacklevel=callers_level(),
        )

    @abstractmethod
    def reason(self, what: str) -> str:
        """Return why a structure without polytopes cannot be solved."""

    def why_relaxed(self, problem: Problem) -> str:
        """Return why the program is a relaxation."""
        if problem.bound.slack == "quadratic":
            return "√Δ is not a sum over parts, and its interpolation may be larger"
        return "its linear programs may have solutions that are not outputs"

    @staticmethod
    def _sample(problem: Problem) -> list[int]:
        """Return some examples, the largest among them."""
        lengths = np.diff(problem.examples.code_offsets)
        if len(lengths) == 0:
            return []
        some = np.linspace(0, len(lengths) - 1, min(len(lengths), SAMPLE)).astype(int)
        return sorted({int(np.argmax(lengths)), *some.tolist()})

    def planned_bytes(self, problem: Problem) -> float:
        """Return the memory of dense features of all parts, of the QR factors and of d × d products."""
        planned = super().planned_bytes(problem)
        if not self._offers(problem.examples):
            return planned
        if self._known_to_relax(problem):
            planned += 8.0 * MOST_PLANES * problem.dim
        variables, factors = self._totals(problem)
        if self._general(problem, variables, factors):
            return planned + GENERAL_BYTES * variables
        width = min(problem.dim, variables + 1.0)
        return planned + 8.0 * (variables * width + 2.0 * width**2 + 3.0 * factors)

    def _totals(self, problem: Problem) -> tuple[float, float]:
        """Return estimates of the number of variables, and of the entries of all constraints as dense matrices."""
        sizes = [self._size(problem, i) for i in self._sample(problem)]
        if not sizes:
            return 0.0, 0.0
        return tuple(float(np.mean(column)) * problem.n_examples for column in zip(*sizes, strict=True))  # type: ignore[return-value]

    def _size(self, problem: Problem, example: int) -> tuple[float, float]:
        """Return how many variables an example has in standard form, and their number times that of constraints."""
        polytope = self.polytope(problem, example)[0]
        low, high, lower, upper = polytope.limits()
        k, m = polytope.A.shape
        variables, rows = m + int((high > low).sum()), float(k)
        if problem.objective.quadratic or problem.objective.hard:
            limits = int((np.isfinite(upper) & (upper > lower)).sum())
            variables, rows = variables + limits + 1, rows + limits
        return float(variables), variables * rows

    def _general(self, problem: Problem, variables: float, factors: float) -> bool:
        """Return whether the general solver is used: chosen, or because single polytopes are large."""
        if self.method != "auto":
            return self.method == "general"
        return factors > LARGE_BLOCK * max(problem.n_examples, 1) and find_spec("clarabel") is not None

    # ------------------------------------------------------------------ steps

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> MinMaxState:
        began = working_seconds()
        general = self._general(problem, *self._totals(problem))
        program = MinMaxProgram(problem, self.polytope, dense=not general)
        if program.relaxed and not self._known_to_relax(problem):
            self._warn(problem)
        state = MinMaxState(problem, seed, start, program)
        if not general:
            state.use(Interior(program, Reduced(program, problem.objective.lower)))
        state.seconds = working_seconds() - began
        return state

    def step(self, problem: Problem, state: MinMaxState) -> None:
        if state.iteration == 0:
            self._decode(problem, state)
        if state.interior is None:
            self._solve_at_once(problem, state)
        else:
            self._iterate(problem, state, state.interior)
        self._decode(problem, state)
        if state.finished and np.isinf(state.best_primal):  # a hard margin, and no weights satisfy it
            self._check_separable(problem, state, max(state.best_dual, state.relaxed_dual), LEAST_LAST_MARGIN)

    def _iterate(self, problem: Problem, state: MinMaxState, interior: Interior) -> None:
        """Take a step of the interior-point method, and set the weights and the lower bound."""
        if not len(state.program.gains):
            state.w, state.finished = problem.objective.raised(np.zeros(problem.dim)), True
            return
        try:
            state.point, length = interior.step(problem, state.point)
        except np.linalg.LinAlgError:
            state.finished = True  # the last point is as good as rounding errors allow
            return
        state.w = problem.objective.raised(interior.reduced.weights(state.v))
        value = self._raise(problem, state, interior.repaired(state.point))
        size = max(abs(value), 0.5 * float(state.w @ state.w), 1e-300)
        state.finished = length < STALLED or interior.complementarity(state.point) <= self.accuracy * size

    def _solve_at_once(self, problem: Problem, state: MinMaxState) -> None:
        """Solve the program with the general solver; the weights are those of its dual masses."""
        program, lower = state.program, problem.objective.lower
        left = problem.deadline - working_seconds()
        if left <= 0.0:
            raise OutOfTime
        w, z, state.finished = solve_general(program, lower, self.accuracy, left)
        state.w = problem.objective.raised(w)
        self._raise(problem, state, repaired(program, z))

    def _raise(self, problem: Problem, state: MinMaxState, z: FloatArray | None) -> float:
        """Raise the lower bound with feasible masses, and return it."""
        if z is None:
            return 0.0
        value = state.program.dual(problem, z)
        if problem.objective.hard:
            self._check_separable(problem, state, value, LEAST_MARGIN)
        if state.program.relaxed:
            state.relaxed_dual = max(state.relaxed_dual, value)
        else:
            state.raise_dual(value)
        return value

    @staticmethod
    def _check_separable(problem: Problem, state: MinMaxState, value: float, margin: float) -> None:
        """Raise NotSeparableError if planes with a positive gain add up to 0, so no weights are long enough."""
        program = state.program
        length = float(np.sqrt(abs(program.features.power(2).sum(axis=1)).max(initial=0.0)))
        least = np.sqrt(2.0 * max(value, 0.0))  # all weights that satisfy the margins are as long as this
        if np.isinf(value) or margin * least * length > float(np.abs(program.gains).max(initial=0.0)):
            if program.relaxed:
                raise ValueError(
                    "C=inf: no weights satisfy all margins of the relaxation that this solver minimises, although some "
                    "may satisfy those of all outputs; use solver='auto', or set a finite C, for example C=1.0"
                )
            problem.decode(state.w, problem.everyone)
            raise NotSeparableError(problem, "the dual of the min-max program is unbounded")

    def _decode(self, problem: Problem, state: MinMaxState) -> None:
        """Offer the weights; where the program is a relaxation, prove a lower bound by the outputs found so far."""
        objective = problem.objective
        problem.decode(state.w, problem.everyone)
        if objective.hard:
            feasible_scale(problem, state, problem.values)
            return
        state.offer(problem, state.w)
        if state.program.relaxed:
            add_plane(problem, state)
            state.model.solve(1e-3 * (state.best_primal - state.best_dual), lower=objective.lower)
            state.raise_dual(state.model.dual(state.model.sum, objective.lower))


@dataclass(frozen=True)
class MinMax(MinMaxSolver):
    """One min-max program over the polytopes of outputs (``solver="minmax"``; Taskar et al. 2005, section 4).

    Experimental: this solver may change in any minor version.

        min  ½‖w‖² + Σ C c_i (b_i·u_i − (Φ_i w + l_i)·c(y_i))      subject to      A_iᵀ u_i ≥ Φ_i w + l_i

    for structures whose outputs are the vertices of {z : A_i z = b_i, z ≥ 0} in the space of counts of parts. It
    reaches the same optimum as planes, with the same certificate: the objective is computed by argmaxes, and the lower
    bound from dual masses that satisfy all constraints up to rounding (10⁻¹² of their size). Where the polytope has
    other vertices too, the program is a relaxation: its optimum is an upper bound, and a warning says so.

    Parameters
    ----------
    method : {"auto", "interior", "general"}, default="auto"
        ``"interior"``: an interior-point method for this shape of program, with a small QR factorisation for each
        example and one Cholesky factorisation of a d × d matrix. ``"general"``: Clarabel (extra ``convex``) on the
        sparse program. ``"auto"``: the latter if single polytopes are large and Clarabel is installed, else the former.
    accuracy : float, default=1e-10
        Relative gap of the program at which the solver stops by itself.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.assignments()
    >>> planes = mm.StructuralSVM(mm.BipartiteMatching()).fit(X, Y)
    >>> program = mm.StructuralSVM(mm.BipartiteMatching(), solver=mm.solvers.MinMax()).fit(X, Y)
    >>> abs(program.certificate_.primal / planes.certificate_.primal - 1.0) < 1e-3  # the same optimum
    True
    """

    name: ClassVar[str] = "minmax"
    offered: ClassVar[str] = "polytope"

    def polytope(self, problem: Problem, example: int) -> tuple[Polytope, bool]:
        return Polytope(*problem.examples.polytope(example)), True

    def reason(self, what: str) -> str:
        return (
            f"{what} has no polytope(), because its outputs are not the vertices of a small polytope, or its scores "
            f"are not sums over parts"
        )


@dataclass(frozen=True)
class CertificateProgram(MinMaxSolver):
    """One min-max program with certificates of optimality (``solver="certificate"``; Taskar et al. 2005, section 5).

    Experimental: this solver may change in any minor version.

    The constraints say that the true output is optimal, with slacks that cost C c_i:

    - spanning trees (undirected): every tree edge beats every edge across the cut that it makes. With slacks the hinge
      is that of exchanges of edges, which is at least the hinge of trees; without (C = inf), it is exact;
    - matchings: no alternating cycle has a negative length, by distances (their Eq. 13), or by prices of nodes,
      which is the same in fewer variables. Both prove optimality over fractional matchings, so the optimum is an
      upper bound; it is exact for bipartite graphs and for perfect matchings of 4 nodes. Prices of odd sets besides
      (Edmonds 1965) make it exact, for up to 10 nodes. Matchings that need not be perfect are perfect in a graph with a
      copy (distances), or have a price for nodes without a partner, which is the same.

    Where the program is a relaxation, a warning says so, `Certificate.relaxation` is a lower bound on its optimum, and
    the lower bound on the objective itself follows from the outputs that argmaxes found.

    Parameters
    ----------
    form : {"prices", "distances", "odd-sets"}, default="prices"
        The certificate of matchings.
    method : {"auto", "interior", "general"}, default="auto"
        As in `MinMax`.
    accuracy : float, default=1e-10
        As in `MinMax`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.partners(4)
    >>> solver = mm.solvers.CertificateProgram()  # for perfect matchings of four nodes the program is exact
    >>> model = mm.StructuralSVM(mm.Matching(), solver=solver).fit(X, Y)
    >>> model.certificate_.gap <= model.tol
    True
    """

    name: ClassVar[str] = "certificate"
    offered: ClassVar[str] = "certificate_polytope"

    form: str = "prices"

    def check_parameters(self) -> None:
        super().check_parameters()
        self._check_choice("form", FORMS)

    def polytope(self, problem: Problem, example: int) -> tuple[Polytope, bool]:
        certificate = problem.examples.certificate_polytope(example, self.form)
        return certificate.polytope, certificate.decides if problem.objective.hard else certificate.integral

    def reason(self, what: str) -> str:
        return "certificates are known for undirected trees (Tree) and for matchings of general graphs (Matching)"

    def why_relaxed(self, problem: Problem) -> str:
        if problem.bound.slack == "quadratic":
            return super().why_relaxed(problem)
        return {
            "TreeExamples": "exchanges of single edges need not be trees",
        }.get(
            type(problem.examples).__name__,
            f"form={self.form!r} proves optimality over fractional matchings, form='odd-sets' over matchings",
        )

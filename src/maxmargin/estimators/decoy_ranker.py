"""`DecoyRanker`: alignment scores that put a homologue before decoys."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._callers import callers_level
from maxmargin._checked import is_list, whole_number
from maxmargin._compile import working_seconds
from maxmargin._input import either, example_weights, indexable
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import ExampleError, Place
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.engines import Local
from maxmargin.engines.local import one_blas_thread
from maxmargin.estimators._substitution import check_substitution_prior, substitution_centre
from maxmargin.estimators.base import MaxMarginEstimator, TrainingData
from maxmargin.io.formats.biopython import matrix_of_weights
from maxmargin.solvers.base import State
from maxmargin.structures.alignment.decoy_examples import ChosenAlignment, DecoyExamples
from maxmargin.structures.alignment.decoys import Decoys
from maxmargin.structures.alignment.structure import AMINO_ACIDS
from maxmargin.training.run import Run


class DecoyRanker(MaxMarginEstimator):
    """Weights of alignments with which a homologue outranks decoys (Tsochantaridis et al. 2004, section 5.4).

    The similarity of two sequences is the score of their best alignment. Each x is (native, homologue, decoys), with
    sequences as in `Alignment`; each y is the alignment of the native sequence with its homologue, a pair of aligned
    strings. With slack s = ½ ξ² (``slack="quadratic"``),

        ½‖w‖² + C Σ c_i s(ξ_i)    such that    w·Ψ(x_i, z_i, a_i) ≥ 1 − ξ_i + w·Ψ(x_i, z_t, a)  for all decoys z_t and a

    Without Y, the alignments a_i are latent: the best ones at the current weights, starting with scores of equal
    letters; then the problem is solved for these alignments, and so on until they stay the same (as in Yu and Joachims
    2009). The objective never increases, and the result is a local optimum. The loss is zero-one.

    Parameters
    ----------
    mode : {"local", "global", "semiglobal"}, default="local"
        Kind of alignments; local is that of Tsochantaridis et al.
    features, gap_features, window, alphabet, prior : optional
        As in `PairwiseAligner`.
    gaps : {"linear", "affine"}, default="linear"
        Whether the first position opposite a gap has a weight of its own.
    C : float, default=1.0
        Trade-off.
    bound : {"margin", "ramp"}, default="margin"
        Margin re-scaling, which is slack re-scaling for a zero-one loss, or its ramp, for given alignments and with
        ``slack="linear"``.
    slack : {"quadratic", "linear"}, default="quadratic"
        Penalty of slacks: ½ C Σ c_i ξ_i², or C Σ c_i ξ_i.
    solver : str or Solver, default="nslack"
        The published algorithm; see `StructuralSVM` for others.
    max_outer : int, default=100
        Greatest number of outer steps, for latent alignments.
    tol : float, default=1e-2
        Relative gap at which training stops.
    nonnegative, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, \
    checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    certificate_, history_ : object
        As in `StructuralSVM`; with latent alignments, of the last problem solved.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [("ACGTACGT", "ACGTACG", ["TTTTTTT", "GGGGACC"]), ("TTGACA", "TTGCA", ["CCCCCC", "AATTAA"])]
    >>> ranker = mm.DecoyRanker(alphabet="ACGT").fit(X)
    >>> ranker.predict([("ACGTTGA", ["CCCCCCC", "ACGTGA"])])
    array([1])
    """

    _bounds: ClassVar[tuple[str, ...]] = ("margin", "ramp")

    def __init__(
        self,
        *,
        mode: str = "local",
        features: str = "simple",
        gaps: str = "linear",
        gap_features: bool = False,
        window: int = 3,
        alphabet: str = AMINO_ACIDS,
        C: float = 1.0,
        bound: str = "margin",
        slack: str = "quadratic",
        max_outer: int = 100,
        nonnegative: Any = False,
        prior: Any = None,
        solver: Any = "nslack",
        tol: float = 1e-2,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.mode, self.features, self.gaps, self.gap_features = mode, features, gaps, gap_features
        self.window, self.alphabet, self.C, self.bound, self.slack = window, alphabet, C, bound, slack
        self.max_outer, self.nonnegative, self.prior = max_outer, nonnegative, prior
        self.solver, self.tol, self.max_iter, self.max_seconds = solver, tol, max_iter, max_seconds
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        return Decoys(
            mode=self.mode,
            features=self.features,
            gaps=self.gaps,
            gap_features=self.gap_features,
            window=self.window,
            alphabet=self.alphabet,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_number(self.max_outer, "max_outer")
        self._make_structure().check_parameters()  # type: ignore[attr-defined]

    def _check_prior(self) -> None:
        check_substitution_prior(self.prior, log_odds=False)

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of (native, homologue, decoys)
            Sequences; decoys are a list of at least one.
        Y : sequence of pairs of str, default=None
            The alignment of each native sequence with its homologue; None if they are latent.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        self
            The fitted ranker.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X = indexable(X, "X")
        return super()._prepare(X, [None] * len(X) if Y is None else Y, sample_weight, groups)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        structure: Any = data.structure
        return substitution_centre(self.prior, structure.alignment_, data.examples.dim)

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        examples: Any = problem.examples
        if not examples.latent:
            return super()._train(problem, run, start, resume, state)
        if resume is not None or self.checkpoint is not None:
            raise ValueError("latent alignments have no checkpoints: pass the alignments as Y")
        if not self._convex:
            raise ValueError(f"bound={self.bound!r} needs the alignments of the homologues as Y")
        if state is not None:
            start = state.best_w
        if start is None:
            start = problem.relative(self._first_weights(problem))
        return self._alternate(problem, run, start)

    def _alternate(self, problem: Problem, run: Run, start: FloatArray) -> State:
        """Align the homologues at the current weights and solve for these alignments, until they stay the same."""
        examples: Any = problem.examples
        examples.fix_alignments(problem.weights(start))
        before, began, steps = np.inf, working_seconds(), 0
        while True:
            run.history.clear()
            if self.max_seconds is not None:
                left = max(float(self.max_seconds) - (working_seconds() - began), 1e-3)
                run.limits = replace(run.limits, max_seconds=left)
            state, steps = run.go(problem, start=start), steps + 1
            run.outer_steps, objective = steps, state.best_primal
            run.outer_decrease = (before - objective) / objective if np.isfinite(before) and objective else np.inf
            done = steps == self.max_outer or run.outer_decrease <= run.limits.tol
            if done or run.stop_reason in ("interrupted", "callback", "max_seconds"):
                return state
            if not examples.fix_alignments(problem.weights(state.best_w)):
                _warn_of_zero(problem.weights(state.best_w))
                return state
            before, start = objective, state.best_w

    @staticmethod
    def _first_weights(problem: Problem) -> FloatArray:
        """Return weights that favour equal letters, so that the first alignments are not empty."""
        structure: Any = problem.examples.structure.alignment_  # type: ignore[attr-defined]
        weights = np.zeros(problem.examples.dim) if problem.centre is None else problem.centre.copy()
        if not weights.any():
            substitutions = structure.substitution_weights(weights)
            substitutions[:-1, :-1] = 2.0 * np.eye(len(substitutions) - 1) - 1.0
            weights[-structure._n_outputs :] = -1.0
        return weights

    # ------------------------------------------------------------------ use

    def _candidates(self, X: Any) -> list[Any]:
        """Return triples (native, first candidate, others), from triples or from pairs (native, candidates)."""
        check_is_fitted(self, "coef_")
        found = []
        for i, x in enumerate(indexable(X, "X")):
            if is_list(x) and len(x) == 2 and is_list(x[1]) and not isinstance(x[1], str):
                if len(x[1]) == 0:
                    raise ValueError(f"X[{i}]: expected a list of at least one candidate, found none")
                x = (x[0], x[1][0], list(x[1][1:]))
            elif not is_list(x) or len(x) != 3:
                raise ExampleError.at(
                    Place("X", i),
                    f"expected (native, candidates) or (native, homologue, decoys), candidates and decoys as lists, "
                    f"found {type(x).__name__} {x!r:.60}",
                )
            found.append(x)
        return found

    def decision_function(self, X: Any) -> list[FloatArray]:
        """Return the similarity of each candidate with the native sequence: the score of their best alignment.

        Parameters
        ----------
        X : sequence of (native, candidates) or (native, homologue, decoys)
            Sequences; the candidates of a triple are its homologue and its decoys.

        Returns
        -------
        list of ndarray
            The scores of the candidates of each input.
        """
        X = self._candidates(X)
        structure: Any = self.structure_
        examples: DecoyExamples = structure.encode(X)
        found: list[Any] = [None] * examples.n_examples

        def ask(ids: IntArray, chunk: slice) -> None:
            found[chunk] = examples.candidate_scores(self.coef_, ids)

        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(ask, np.arange(examples.n_examples), DecoyExamples.smallest_chunk)
        return found

    def predict(self, X: Any) -> IntArray:
        """Return the index of the most similar candidate of each input.

        Parameters
        ----------
        X : sequence of (native, candidates) or (native, homologue, decoys)
            Sequences.

        Returns
        -------
        ndarray of shape (n,)
            Indices; 0 is the homologue of a triple. Of equal candidates the first is predicted.
        """
        return np.array([int(scores.argmax()) for scores in self.decision_function(X)], np.int64)

    def rank(self, X: Any) -> list[IntArray]:
        """Return the candidates of each input from the most to the least similar.

        Parameters
        ----------
        X : sequence of (native, candidates) or (native, homologue, decoys)
            Sequences.

        Returns
        -------
        list of ndarray
            Indices of candidates.
        """
        return [np.argsort(-scores, kind="stable") for scores in self.decision_function(X)]

    def chosen(self, X: Any) -> list[ChosenAlignment]:
        """Return the most similar candidate of each input with its alignment.

        Parameters
        ----------
        X : sequence of (native, candidates) or (native, homologue, decoys)
            Sequences.

        Returns
        -------
        list of ChosenAlignment
            Candidate and alignment.
        """
        found: list[ChosenAlignment] = super().predict(self._candidates(X))
        return found

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the share of inputs whose homologue is more similar than all decoys; equal scores are not enough.

        Parameters
        ----------
        X : sequence of (native, homologue, decoys)
            Sequences.
        Y, y : ignored
            For scikit-learn's tools.
        sample_weight : array-like of shape (n,), default=None
            Weight of each input; 1 by default.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X = indexable(X, "X")
        if len(X) == 0:
            raise ValueError("X is empty: there are no examples")
        weights = example_weights(sample_weight, len(X))
        first = [scores[0] > scores[1:].max(initial=-np.inf) for scores in self.decision_function(X)]
        return float(np.average(first, weights=weights))

    def substitution_matrix(self) -> Any:
        """Return the weights of pairs of letters as a substitution matrix of Biopython (extra ``bio``).

        Returns
        -------
        Bio.Align.substitution_matrices.Array
            Rows are letters of the native sequence, columns letters of the candidate.
        """
        check_is_fitted(self, "coef_")
        structure: Any = self.structure_
        return matrix_of_weights(structure.alignment_.substitution_weights(self.coef_), self.alphabet)


def _warn_of_zero(weights: FloatArray) -> None:
    """Warn if latent alignments have taught nothing."""
    if not weights.any():
        warnings.warn(
            "all weights are 0: the first alignments, by equal letters or by the prior, do not tell homologues from "
            "decoys; pass some alignments as Y, then fit the others with warm_start=True, or set prior=",
            UserWarning,
            stacklevel=callers_level(),
        )

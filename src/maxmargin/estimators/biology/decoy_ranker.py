"""`DecoyRanker`: alignment scores that put a homologue before decoys."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, choice, declared, is_list, parameter, whole_number
from maxmargin._base.errors import ExampleError, Place, callers_level
from maxmargin._base.input import example_weights, indexable
from maxmargin._base.jit import working_seconds
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.engines.engine import Local, one_blas_thread
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.biology.substitution import (
    AlignmentParameters,
    check_substitution_weights,
    letter_scores,
    substitution_centre,
)
from maxmargin.estimators.starts import Start
from maxmargin.estimators.training_data import TrainingData
from maxmargin.estimators.warnings import DegenerateWarning
from maxmargin.formats.biopython import matrix_of_weights
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.alignment.decoy_examples import ChosenAlignment, DecoyExamples
from maxmargin.structures.alignment.decoys import Decoys
from maxmargin.training.run import Run


@declared
class DecoyRanker(AlignmentParameters, MaxMarginEstimator):
    """Ranker of homologues above decoys, by learnt scores of alignments (Tsochantaridis et al. 2004, section 5.4).

    The similarity of two sequences is the score of their best alignment. Each x is (native, homologue, decoys), with
    sequences as in `Alignment`; each y is the alignment of the native sequence with its homologue, a pair of aligned
    strings. With slack s = ½ ξ² (``slack="quadratic"``),

        ½‖w‖² + C Σ c_i s(ξ_i)    such that    w·Ψ(x_i, z_i, a_i) ≥ 1 − ξ_i + w·Ψ(x_i, z_t, a)  for all decoys z_t and a

    Without y, the alignments a_i are latent: the best ones at the current weights, starting with scores of equal
    letters; then the problem is solved for these alignments, and so on until they stay the same (as in Yu and Joachims
    2009). The objective never increases, and the result is a local optimum. The loss is zero-one.

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

    Read on: "Alignments" in the documentation.
    """

    mode: str = parameter(
        "Kind of alignments; local is that of Tsochantaridis et al.",
        default="local",
        kind='{"local", "global", "semiglobal"}',
    )
    features: str = parameter(
        "Features of matches (Joachims et al. 2009, section 3.2); see `Alignment`.",
        default="simple",
        kind='{"simple", "anova2", "tensor", "window", "profile"}',
    )
    gaps: str = parameter(
        "Whether the first position opposite a gap has a weight of its own.",
        default="linear",
        kind='{"linear", "affine"}',
    )
    bound: str = changed(
        "Margin re-scaling, which is slack re-scaling for a zero-one loss, or its ramp, for given alignments "
        'and with ``slack="linear"``.',
        choice("margin", "ramp"),
        default="margin",
        kind='{"margin", "ramp"}',
    )
    slack: str = changed(
        "Penalty of slacks: ½ C Σ c_i ξ_i², or C Σ c_i ξ_i.", default="quadratic", kind='{"quadratic", "linear"}'
    )
    max_outer: int = parameter("Maximum number of outer steps, for latent alignments.", whole_number, default=100)
    prior: Any = parameter(
        "Weights w₀ that the regulariser ½‖w − w₀‖² prefers, or a substitution matrix, as in `PairwiseAligner`, which "
        "also has log odds.",
        check_substitution_weights,
        default=None,
        kind="str, Array, dict, array-like of shape (n_weights,) or None",
    )
    solver: Any = changed("The published algorithm; see `StructuralSVM` for others.", default="nslack")
    tol: float = changed(default=0.01)

    _structure = Decoys

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of (native, homologue, decoys)
            Sequences; decoys are a list of at least one.
        y : sequence of pairs of str, default=None
            The alignment of each native sequence with its homologue; None if they are latent.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted ranker.
        """
        return self._fit(X, y, sample_weight, resume=resume)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X = indexable(X, "X")
        return super()._prepare(X, [None] * len(X) if Y is None else Y, sample_weight, groups)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        structure: Any = data.structure
        return substitution_centre(self.prior, structure.alignment_, data.examples.dim)

    def _train(
        self, problem: Problem, run: Run, starts: Iterable[Start], resume: Any = None, state: State | None = None
    ) -> State:
        examples: Any = problem.examples
        if not examples.latent:
            return super()._train(problem, run, starts, resume, state)
        if resume is not None or self.checkpoint is not None:
            raise ValueError("latent alignments have no checkpoints: pass the alignments as y")
        if not self._convex:
            raise ValueError(f"bound={self.bound!r} needs the alignments of the homologues as y")
        first, *others = starts
        if others:
            raise ValueError("latent alignments take one start, found several: pass the alignments as y")
        run.start, weights = first.name, first.relative(problem) if state is None else state.best_w
        if weights is None:
            run.start, weights = "letters", problem.relative(self._equal_letters(problem))
        return self._alternate(problem, run, weights)

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
                return state
            before, start = objective, state.best_w

    def _warn_if_degenerate(self, problem: Problem, state: State) -> None:
        if self._convex and self.certificate_.outer_steps:  # alignments were latent: they are fixed by now
            _warn_of_zero(problem.weights(state.best_w))
        else:
            super()._warn_if_degenerate(problem, state)

    @staticmethod
    def _equal_letters(problem: Problem) -> FloatArray:
        """Return weights that favour equal letters, so the first alignments are not empty."""
        structure: Any = problem.examples.structure.alignment_  # type: ignore[attr-defined]
        weights = np.zeros(problem.examples.dim) if problem.centre is None else problem.centre.copy()
        if not weights.any():
            letters = structure.substitutions()[:-1, :-1]
            weights[letters] = 2.0 * np.eye(len(letters)) - 1.0
            weights[-structure._n_outputs :] = -1.0
        return weights

    # ------------------------------------------------------------------ use

    def _candidates(self, X: Any) -> list[Any]:
        """Return triples (native, first candidate, others), from triples or from pairs (native, candidates)."""
        check_is_fitted(self, "coef_")
        candidates = []
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
            candidates.append(x)
        return candidates

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
        scores: list[Any] = [None] * examples.n_examples

        def ask(ids: IntArray, chunk: slice) -> None:
            scores[chunk] = examples.candidate_scores(self.coef_, ids)

        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(ask, np.arange(examples.n_examples), DecoyExamples.smallest_chunk)
        return scores

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
        alignments: list[ChosenAlignment] = super().predict(self._candidates(X))
        return alignments

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of inputs whose homologue is more similar than all decoys; equal scores are not enough.

        Parameters
        ----------
        X : sequence of (native, homologue, decoys)
            Sequences.
        y : ignored
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
        return matrix_of_weights(letter_scores(structure.alignment_, self.coef_), self.alphabet)


def _warn_of_zero(weights: FloatArray) -> None:
    """Warn if latent alignments have taught nothing."""
    if not weights.any():
        warnings.warn(
            "all weights are 0: the first alignments, by equal letters or by the prior, do not tell homologues from "
            "decoys; pass some alignments as y, then fit the others with warm_start=True, or set prior=",
            DegenerateWarning,
            stacklevel=callers_level(),
        )

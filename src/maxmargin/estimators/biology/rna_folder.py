"""`RNAFolder`: the secondary structure of RNA sequences."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import (
    changed,
    check_flag,
    declared,
    finite_number,
    optional,
    parameter,
    positive_number,
    whole_number,
)
from maxmargin._base.errors import callers_level
from maxmargin._base.input import example_weights, indexable, one_example, paired_examples
from maxmargin._base.ragged import ONLY
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.bounds import BOUNDS
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.probabilities import ProbabilisticSets, check_temperature
from maxmargin.estimators.starts import NamedStart, centre, check_prior, starts_of
from maxmargin.estimators.training_data import TrainingData
from maxmargin.formats.structures import STOCKHOLM, read_rna, read_structures, suffix_of
from maxmargin.metrics.base_pairs import base_pair_scores
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.folding.structure import Folding
from maxmargin.structures.folding.turner import turner_weights
from maxmargin.training.run import Run

#: Groups below which models of halves of them are not compared with the prior: the difference would be noise.
LEAST_GROUPS = 20


@dataclass(frozen=True)
class FoldingData(TrainingData):
    """Training data with the group of each encoded example."""

    groups: IntArray


def check_folding_prior(prior: Any, name: str) -> None:
    """Raise ValueError unless the prior is ``"turner"``, a vector or None."""
    if isinstance(prior, str):
        if prior != "turner":
            raise ValueError(f"{name} must be 'turner', a vector of weights or None, found {prior!r:.60}")
    else:
        check_prior(prior, name)


def prior_weights(estimator: Any, data: Any, problem: Problem, restart: int) -> FloatArray | None:
    """Return the weights of the prior, as a start."""
    centre: FloatArray | None = estimator._centre(data)
    return centre


@declared
class RNAFolder(ProbabilisticSets, MaxMarginEstimator):
    """Secondary structure of RNA, learnt from sequences with known structures (Do et al. 2008).

    The weights are those of the terms of energy models; `Folding` lists them. They start from Turner's energies and
    move as far as the training structures require: the regulariser is ½‖w − w₀‖², and the ramp limits what a structure
    that no energies explain can cost. Predictions are structures of maximum expected accuracy.

    Sequences are strings of A, C, G and U, or Biopython's `Seq` and `SeqRecord`; T is read as U, lower case as upper
    case, and N and the other letters that stand for several bases as unknown bases. Structures are strings in
    dot-bracket notation without pseudoknots. Files are read by their suffix: FASTA, dot-bracket, CT, bpseq, Stockholm.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights; `feature_names_out` names them, and `weights_frame` has them as a table.
    structure_ : Folding
        The structure; ``structure_.split_weights(coef_)`` has the weights by kind of term.
    comparison_ : dict or None
        F1 of base pairs on held-out groups: "learnt", of models of the other groups, and "prior", of the prior alone;
        None if they were not compared.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]
    >>> model = mm.RNAFolder().fit(X, Y)
    >>> model.predict(["ggcaaaagcc"])
    ['(((....)))']

    Read on: "RNA folding" in the documentation.
    """

    named_starts: ClassVar[Mapping[str, NamedStart]] = {**MaxMarginEstimator.named_starts, "prior": prior_weights}

    C: float = changed(
        "Trade-off. The default belongs to the prior and its scale; without a prior, values of about 1 are usual.",
        default=0.001,
    )
    bound: str = changed(
        "The ramp limits the cost of each structure (Do et al. 2008), and starts from the optimum of its convex form, "
        "margin re-scaling. Slack re-scaling searches, with a proven bound.",
        default="ramp",
    )
    loss: Any = parameter(
        'The loss: 1 − recall, the fraction of true pairs that are missed; or ``{"missed": a, "false": b}``, '
        "the costs of each missed and of each false pair. 1 − recall does not penalise false pairs, so "
        "more pairs are predicted.",
        default="recall",
        kind='"recall" or dict',
    )
    prior: Any = parameter(
        "Weights w₀ that the regulariser ½‖w − w₀‖² prefers: Turner's energies of 2004 (Mathews et al. 2004), those of "
        "a model of other data, or 0 (None).",
        check_folding_prior,
        default="turner",
        kind='"turner", array-like of shape (n_weights,) or None',
    )
    prior_scale: float = parameter(
        'Score of 1 kcal/mol, for ``prior="turner"``. With another scale s, C s² / 0.01 is the same trade-off.',
        positive_number,
        default=0.1,
    )
    max_per_group: int | None = parameter(
        "Maximum number of RNAs of each of the groups that `fit` is given, the first ones; None for no maximum. "
        "Families of hundreds of similar RNAs would outweigh all others.",
        optional(whole_number),
        default=10,
    )
    compare_prior: bool = parameter(
        "Whether to fit two more models, each on half of the groups, and to compare them with the prior on the other "
        f"half: `comparison_`, and a warning if the prior is better. Not with fewer than {LEAST_GROUPS} groups.",
        check_flag,
        default=True,
    )
    decode: str = changed(default="risk")
    temperature: Any = changed(
        'Scores are divided by it in probabilities. None: `prior_scale` with ``prior="turner"``, that is kT = '
        "1 kcal/mol, and 1 otherwise. "
        '``"auto"`` chooses the temperature of greatest likelihood on held-out halves of the training data, for which '
        "two more models are fitted.",
        optional(check_temperature),
        default=None,
        kind='float, "auto" or None',
    )
    canonical: bool = parameter("Whether only A–U, C–G and G–U pair; otherwise all bases do.", check_flag, default=True)
    min_hairpin: int = parameter("Least number of bases in a hairpin.", default=3)
    max_loop: int = parameter("Maximum number of unpaired bases in a bulge or an interior loop.", default=30)
    impossible: str = parameter(
        "What to do with true structures that cannot be predicted: raise an error, or drop pairs and warn; "
        "see `Folding`.",
        default="error",
        kind='{"error", "drop"}',
    )
    tol: float = changed(
        "Relative gap, and relative decrease of the ramp, at which training stops. Without a prior the optimum of the "
        "convex bound may be within 1 % of w = 0, which predicts no pairs, so a fit with a larger gap may end there.",
        default=0.02,
    )

    _structure = Folding

    @property
    def _energies_known(self) -> bool:
        return isinstance(self.prior, str)

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, resume: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of str, str or path-like
            Sequences; or a file with structures (dot-bracket, CT, bpseq, Stockholm), without y.
        y : sequence of str, default=None
            Their structures.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each RNA in the objective; 1 by default. RNAs of weight 0 are left out.
        groups : sequence of length n, default=None
            The family of each RNA; by default that of a Stockholm file, otherwise each RNA is a group of its own.
        resume : str or path-like, default=None
            Checkpoint of a convex bound to continue from. Data and parameters must be those of the fit that wrote it,
            except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted folder.
        """
        return self._fit(X, y, sample_weight, groups=groups, resume=resume)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        X, Y, families = folded_examples(X, Y)
        X, Y = paired_examples(X, Y)
        codes = group_codes(families if groups is None else groups, len(Y))
        data = super()._training_data(X, Y, self._capped(sample_weight, codes))
        return FoldingData(**vars(data), groups=codes[data.positions])

    def _capped(self, sample_weight: Any, groups: IntArray) -> FloatArray:
        """Return weights of 0 for all but the first RNAs of each group that have one."""
        weights = np.array(example_weights(sample_weight, len(groups)), float)
        if self.max_per_group is not None:
            seen = np.zeros(len(groups), np.int64)
            for i in np.flatnonzero(weights):
                seen[groups[i]] += 1
                if seen[groups[i]] > self.max_per_group:
                    weights[i] = 0.0
        return weights

    def _centre(self, data: TrainingData) -> FloatArray | None:
        if not self._energies_known:
            return centre(self.prior, data.examples.dim)
        return float(self.prior_scale) * turner_weights(data.structure.terms)  # type: ignore[attr-defined]

    def _temperature(self, problem: Problem, run: Run, data: TrainingData) -> float:
        if self.temperature is not None:
            return super()._temperature(problem, run, data)
        return float(self.prior_scale) if self._energies_known and not BOUNDS[self.bound].smooth else 1.0

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        assert isinstance(data, FoldingData)
        self.comparison_ = self._compared(problem, run, data)
        if self.comparison_ is not None and self.comparison_["learnt"] < self.comparison_["prior"]:
            warnings.warn(
                f"on held-out groups, F1 of base pairs is {self.comparison_['learnt']:.3f} with learnt weights but "
                f"{self.comparison_['prior']:.3f} with the prior alone: lower C, or train on more families",
                UserWarning,
                stacklevel=callers_level(),
            )

    def _compared(self, problem: Problem, run: Run, data: FoldingData) -> dict[str, float] | None:
        """Return F1 of models of halves of the groups, and of the prior, on the other halves."""
        groups, w0 = np.unique(data.groups), self._centre(data)
        if not self.compare_prior or w0 is None or len(groups) < LEAST_GROUPS or was_stopped(run):
            return None
        some = np.random.default_rng(run.seed).permutation(groups)[::2]
        first = np.isin(data.groups, some)
        counts = np.zeros((2, 3))
        for mine, other in ((first, ~first), (~first, first)):
            ids = np.flatnonzero(mine)
            half = replace(
                data, examples=data.examples.take(ids), weights=data.weights[ids], positions=data.positions[ids],
                groups=data.groups[ids],
            )  # fmt: skip
            part = self._problem(half, problem.engine)
            quiet = replace(self._run([]), checkpoint=None, verbose=0)
            state = self._train(part, quiet, starts_of(self, half, part))
            rest = data.examples.take(np.flatnonzero(other))
            for r, w in enumerate((part.weights(state.best_w), w0)):
                counts[r] += self._pair_counts(rest, w)
        common, true, predicted = counts.T
        return dict(zip(("learnt", "prior"), (2.0 * common / np.maximum(true + predicted, 1.0)).tolist(), strict=True))

    def _pair_counts(self, examples: Any, w: FloatArray) -> tuple[int, int, int]:
        """Return the numbers of correct, true and predicted bases in pairs, at other weights."""
        model = copy(self)
        model.coef_ = w
        codes = model._answers(examples).codes
        true, predicted = examples.truths >= 0, codes >= 0
        return int((true & (examples.truths == codes)).sum()), int(true.sum()), int(predicted.sum())

    # ------------------------------------------------------------------ use

    def _inputs(self, X: Any) -> Any:
        return read_rna(existing_file(X)) if isinstance(X, str | os.PathLike) else indexable(X, "X")

    def predict(self, X: Any, constraints: Any = None) -> list[str]:
        """Return the structure of each sequence.

        Parameters
        ----------
        X : sequence of str, str or path-like
            Sequences; or a file of them (FASTA, or one with structures, which are ignored).
        constraints : sequence of length n, default=None
            What each structure must satisfy: None; a string of the length of the sequence with ``x`` (unpaired), ``|``
            (paired), ``<`` and ``>`` (paired with a later, an earlier base), ``(`` and ``)`` (this pair) or a dot; or a
            dict with lists of pairs, "forced" and "forbidden", and of positions, "paired" and "unpaired", from 0. Other
            methods take tuples (sequence, constraint) as inputs.

        Returns
        -------
        list of str
            Structures in dot-bracket notation: of maximum expected accuracy, or, with ``decode="map"``, of best score.
        """
        check_is_fitted(self, "coef_")
        X = self._inputs(X)
        if constraints is not None:
            constraints = indexable(constraints, "constraints")
            if len(constraints) != len(X):
                raise ValueError(f"X has {len(X)} sequences but there are {len(constraints)} constraints")
            X = list(zip(X, constraints, strict=True))
        structures: list[str] = super().predict(X)
        return structures

    @property
    def _unit(self) -> float:
        """The score of 1 kcal/mol."""
        return float(self.prior_scale) if self._energies_known else 1.0

    def energies(self, X: Any, y: Any = None) -> FloatArray:
        """Return the energy of each structure: −w·Ψ(x, y), in kcal/mol if the prior is Turner's energies.

        Parameters
        ----------
        X : sequence of str, str or path-like
            Sequences; or a file with structures, without y.
        y : sequence of str, default=None
            Their structures; a structure that cannot be predicted is an error.

        Returns
        -------
        ndarray of shape (n,)
            The energies.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(*folded_examples(X, y)[:2])
        assert isinstance(self.structure_, Folding)
        examples = Folding(**(self.structure_.get_params() | {"impossible": "error"})).encode(X, Y)
        ids = np.arange(examples.n_examples)
        return -examples.true_totals(examples.scores(self.coef_, ids), ids) / self._unit + 0.0

    def suboptimal(self, x: Any, delta: float = 1.0, max_structures: int = 1000) -> list[tuple[str, float]]:
        """Return all structures whose energy is at most `delta` above the least one.

        Parameters
        ----------
        x : str or (str, constraint)
            One sequence.
        delta : float, default=1.0
            Range of energies, in the unit of `energies`.
        max_structures : int, default=1000
            Maximum number of structures; their number grows exponentially with the length and with `delta`.

        Returns
        -------
        list of (str, float)
            Structures and their energies, the least energy first.
        """
        check_is_fitted(self, "coef_")
        finite_number(delta, "delta")
        assert isinstance(self.structure_, Folding)
        examples = self.structure_.encode([self._input_of(x)])
        structures = list[tuple[str, float]]()
        ranked = examples.ranked(examples.scores(self.coef_, ONLY), 0.0)
        for code, score in islice(ranked, whole_number(max_structures, "max_structures")):
            energy = 0.0 - score / self._unit
            if structures and energy > structures[0][1] + delta:
                break
            structures.append((self.structure_.output_of(code), energy))
        return structures

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return F1 of base pairs, pooled over all sequences.

        `maxmargin.metrics.base_pair_scores` has sensitivity and selectivity.

        Parameters
        ----------
        X : sequence of str, str or path-like
            Sequences; or a file with structures, without y.
        y : sequence of str, default=None
            Their true structures, which may have pairs that cannot be predicted.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence, for all of its pairs.

        Returns
        -------
        float
            Between 0 and 1; 0 if there are neither true nor predicted pairs.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(*folded_examples(X, y)[:2])
        return base_pair_scores(Y, self.predict(X), sample_weight=sample_weight).f1


def was_stopped(run: Run) -> bool:
    """Return whether a fit was stopped before its end: further models would exceed its limits."""
    return run.stop_reason in ("interrupted", "callback", "max_seconds")


def folded_examples(X: Any, Y: Any) -> tuple[Any, Any, list[str] | None]:
    """Return sequences, structures and families, which a file contains, or as they are."""
    if not isinstance(X, str | os.PathLike):
        return X, Y, None
    records = read_structures(existing_file(X))
    if Y is not None:
        raise ValueError("X is a file, which contains the structures: expected no y")
    families = [record.description for record in records] if suffix_of(X) in STOCKHOLM else None
    return [record.sequence for record in records], [record.structure for record in records], families


def existing_file(X: Any) -> Any:
    """Return the name of a file; raise ValueError if it is a sequence of bases in place of a list of sequences."""
    if isinstance(X, str) and X and set(X.upper()) <= set("ACGUTN") and not os.path.exists(X):
        raise one_example("X", "sequence")
    return X


def group_codes(groups: Any, n: int) -> IntArray:
    """Return the number of the group of each example; each is a group of its own if there are none."""
    if groups is None:
        return np.arange(n)
    groups = indexable(groups, "groups")
    if len(groups) != n:
        raise ValueError(f"X has {n} examples but groups has {len(groups)}")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.int64)

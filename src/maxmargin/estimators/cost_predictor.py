"""`CostPredictor`: what a fitted `CostLearner` does, from decisions to their explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._input import either, example_weights
from maxmargin._types import AnyArray, FloatArray
from maxmargin.engines import Local
from maxmargin.engines.local import one_blas_thread
from maxmargin.estimators._supervision import check_supervision, supervised
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.explain import Decision, explain
from maxmargin.metrics.decisions import total_regret
from maxmargin.structures.decisions.examples import DecisionExamples
from maxmargin.structures.decisions.inputs import Inputs, Truth


class CostPredictor(MaxMarginEstimator):
    """Base of `CostLearner`: decisions under predicted costs, their scores and explanations."""

    weights: str
    loss: Any
    prior: Any
    two_stage_coef_: FloatArray | None

    def _given(
        self, X: Any, Y: Any, costs: Any, decisions: Any, known_costs: Any, instances: Any
    ) -> tuple[Inputs, list[Truth]]:
        self._check_parameters()
        if Y is not None:
            if costs is not None or decisions is not None:
                raise ValueError("pass Y, or costs= and decisions=, not both")
            costs, decisions = (None, Y) if callable(self.loss) or self.loss == "hamming" else (Y, None)
        check_supervision(self.loss, self.prior, costs, decisions)
        return supervised(Inputs.of(X, self.weights, known_costs, instances), costs, decisions)

    def _examples(self, X: Any, known_costs: Any, instances: Any) -> DecisionExamples:
        check_is_fitted(self, "coef_")
        examples = self.structure_.encode(Inputs.of(X, self.weights, known_costs, instances))  # type: ignore[attr-defined]
        assert isinstance(examples, DecisionExamples)
        return examples

    def predict(self, X: Any, *, known_costs: Any = None, instances: Any = None) -> Any:
        """Return the decision for each input: the optimiser's under the predicted costs.

        Parameters
        ----------
        X : array-like
            Features, as in `fit`.
        known_costs, instances : sequence of length n, default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, m), or list of ndarray
            Decisions; a list if the number of variables differs.
        """
        return _stacked(self._decided(self._examples(X, known_costs, instances), self.coef_))

    def _decided(self, examples: DecisionExamples, w: FloatArray) -> list[Any]:
        answers, everyone = examples.empty_answers(), np.arange(examples.n_examples)
        threads = self.n_jobs if examples.parallel or self.n_jobs is not None else 1
        zeros = np.zeros(examples.n_examples)
        with Local(threads) as engine, one_blas_thread():
            if threads == 1:
                examples.decode(w, everyone, zeros, answers)
            else:
                engine.map(
                    lambda ids, chunk: examples.decode(w, ids, zeros[chunk], answers), everyone, examples.smallest_chunk
                )
        return examples.outputs(answers)

    def predict_costs(self, X: Any, *, known_costs: Any = None) -> Any:
        """Return the predicted costs, known ones included.

        If decisions were known in the fit, costs are in arbitrary units.

        Parameters
        ----------
        X : array-like
            Features, as in `fit`.
        known_costs : sequence of length n, default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, m), or list of ndarray
            Costs.
        """
        examples = self._examples(X, known_costs, None)
        return _stacked(self.structure_.predicted_costs(self.coef_, examples))  # type: ignore[attr-defined]

    def score(
        self,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        y: Any = None,
        costs: Any = None,
        decisions: Any = None,
        known_costs: Any = None,
        instances: Any = None,
    ) -> float:
        """Return minus the normalised regret (`metrics.regret`), or minus the mean loss if decisions are given.

        Parameters
        ----------
        X, Y, sample_weight, y, costs, decisions, known_costs, instances : optional
            As in `fit`.

        Returns
        -------
        float
            The score: higher is better, 0 is perfect.
        """
        check_is_fitted(self, "coef_")
        Y = either(Y, y, "Y", "y")
        return self._score(self.coef_, X, Y, costs, decisions, known_costs, instances, sample_weight)

    def two_stage_score(
        self,
        X: Any,
        costs: Any,
        sample_weight: Any = None,
        *,
        known_costs: Any = None,
        instances: Any = None,
    ) -> float:
        """Return the `score` of the least squares costs, the baseline to compare with.

        Parameters
        ----------
        X, costs, sample_weight, known_costs, instances : optional
            As in `fit`.

        Returns
        -------
        float
            Minus the normalised regret.
        """
        check_is_fitted(self, "coef_")
        if self.two_stage_coef_ is None:
            raise ValueError("the least squares baseline needs a fit with costs=; this fit had decisions")
        return self._score(self.two_stage_coef_, X, None, costs, None, known_costs, instances, sample_weight)

    def _score(
        self, w: FloatArray, X: Any, Y: Any, costs: Any, decisions: Any, known: Any, instances: Any, sample_weight: Any
    ) -> float:  # fmt: skip
        inputs, truths = self._given(X, Y, costs, decisions, known, instances)
        weights = example_weights(sample_weight, len(truths))
        structure: Any = self.structure_
        examples = self._examples(inputs, None, None)
        optimizer, found = examples.optimizer, self._decided(examples, w)
        if truths[0].costs is None:
            losses = [structure.loss(truth, z) for truth, z in zip(truths, found, strict=True)]
            return -float(np.average(losses, weights=weights))
        exact = structure.judged(inputs, truths)
        regrets = np.array([optimizer.sign * c @ (z - best) for (c, best), z in zip(exact, found, strict=True)])
        totals = np.array([c @ best for c, best in exact])
        return -total_regret(weights * np.maximum(regrets, 0.0), weights * totals, True)

    def topk(self, x: Any, k: int, *, known_costs: Any = None, instance: Any = None) -> list[tuple[Any, float]]:
        """Return the k best decisions of one input with their scores, best first (0/1 decisions).

        Parameters
        ----------
        x : array-like
            One input.
        k : int
            Number of decisions.
        known_costs, instance : object, default=None
            What belongs to this input, as in `fit`.

        Returns
        -------
        list of (ndarray, float)
            Decisions, and minus their predicted totals (minus twice, in units of standardised costs, if costs were
            known).
        """
        check_is_fitted(self, "coef_")
        found: list[tuple[Any, float]] = self.structure_.topk(  # type: ignore[attr-defined]
            self.coef_, self._one(x, known_costs, instance), k
        )
        return found

    def explain(self, x: Any, n_features: int = 10, *, known_costs: Any = None, instance: Any = None) -> Decision:
        """Return why a decision won: the runner-up, the margin, and the features that contribute most.

        Parameters
        ----------
        x : array-like
            One input.
        n_features : int, default=10
            Number of features listed, those of greatest effect first.
        known_costs, instance : object, default=None
            What belongs to this input, as in `fit`.

        Returns
        -------
        Decision
            The decision and its runner-up, for 0/1 decisions.
        """
        check_is_fitted(self, "coef_")
        one = self._one(x, known_costs, instance)
        return explain(self.structure_, self.coef_, one, self.feature_names_out, n_features)

    def _one(self, x: Any, known_costs: Any, instance: Any) -> Inputs:
        single = ([x[0]], [x[1]]) if self.weights == "both" else [x]
        return Inputs.of(
            single,
            self.weights,
            None if known_costs is None else [known_costs],
            None if instance is None else [instance],
        )


def _stacked(rows: list[Any]) -> AnyArray | list[Any]:
    return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows

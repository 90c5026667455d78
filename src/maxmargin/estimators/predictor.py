"""`Predictor`: the methods of a fitted estimator, from `predict` to `explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import is_list, whole_number
from maxmargin._base.errors import Place
from maxmargin._base.input import by_position, example_weights, indexable, n_examples, paired_examples
from maxmargin._base.jit import messages
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Answers
from maxmargin.core.structure import Compiled, Structure, StructureError, has_topk
from maxmargin.custom.any_values import own_copy
from maxmargin.custom.inputs import OwnInputs
from maxmargin.custom.joint_kernel import KernelExpansion
from maxmargin.engines.engine import Local, Question, engine_of, one_blas_thread
from maxmargin.estimators.explain import Explanation, explain, weights_frame, why_not_explained

#: Number of kernel values that are computed together in predictions.
KERNEL_VALUES = 1 << 24


def _if_structure(why_not: Callable[[Any], str]) -> Callable[[Any], bool]:
    """Return the condition of a method that some structures lack: `why_not` is the reason, empty if there is none."""

    def check(estimator: Any) -> bool:
        structure = estimator._known_structure()
        reason = estimator._no_single_inputs or ("" if structure is None else why_not(structure))
        if reason:
            raise AttributeError(reason)
        return True

    return check


def _why_no_topk(structure: Any) -> str:
    return "" if has_topk(structure) else f"{type(structure).__name__} has no topk(w, x, k)"


def _why_no_scores(structure: Any) -> str:
    if isinstance(structure, Compiled):
        return "" if "max_marginals" in structure.capabilities else f"{type(structure).__name__} has no decision scores"
    return f"decision_scores needs a structure over parts, which {type(structure).__name__} is not"


class Predictor:
    """Mixin of `MaxMarginEstimator`: prediction, scores and inspection of a fitted estimator."""

    structure_: Structure
    coef_: AnyArray
    n_jobs: int | None
    #: Number of inputs that are encoded at a time; None for all.
    _together: int | None = None
    #: Why inputs cannot be looked at one by one, so there is no `topk` and no `explain`; empty if they can.
    _no_single_inputs: str = ""

    def _flat_weights(self) -> FloatArray:
        """Return the weights as one vector, in the order of the structure."""
        return self.coef_

    def predict(self, X: Any) -> Any:
        """Return the output of best score for each input.

        Parameters
        ----------
        X : sequence
            Inputs, in a form that `fit` accepts.

        Returns
        -------
        list or ndarray
            The output of each input.
        """
        check_is_fitted(self, "coef_")
        X = self._inputs(X)
        if isinstance(self.structure_, Compiled):
            batches = [examples.outputs(self._answers(examples)) for examples in self._encoded(X)]
            return batches[0] if len(batches) == 1 else list(chain.from_iterable(batches))
        return self._own_predictions(X)

    def _scored_structure(self) -> Any:
        """Return the structure whose joint features the weights belong to: with a joint kernel, its expansion."""
        terms = getattr(self, "terms_", None)
        return self.structure_ if terms is None else KernelExpansion(self.structure_, terms)

    def _own_predictions(self, X: Any) -> list[Any]:
        """Return the argmax of a user-defined structure for each input, with the engine of a fit."""
        inputs = OwnInputs(self._scored_structure(), X, n_examples(X))
        answers, everyone = inputs.empty_answers(), np.arange(inputs.n_examples)
        with engine_of(getattr(self, "engine", None), self.n_jobs or 1) as engine, one_blas_thread():
            engine.ask(inputs, Question("decode", self._flat_weights()), everyone, answers)
        return answers.outputs.tolist()

    def _inputs(self, X: Any) -> Any:
        """Return all inputs of a call as a list or an array, checked as a whole."""
        return indexable(X, "X")

    def _features(self, X: Any) -> Any:
        """Return some of the inputs in the form that the structure takes; by default unchanged."""
        return X

    def _input_of(self, x: Any) -> Any:
        """Return one input in the form that the structure takes."""
        return self._features(self._inputs([x]))[0]

    def _row_scores(self, X: Any, table: FloatArray) -> FloatArray:
        """Return the products of rows, or of their kernel features a few at a time, with a table of weights."""
        features: Any = getattr(self.structure_, "features_", None)
        if features is None:
            return np.asarray(X @ table)
        step = max(KERNEL_VALUES // max(features.n_points, 1), 1)
        parts = [np.asarray(features.transform(X[a : a + step]) @ table) for a in range(0, X.shape[0], step)]
        return np.concatenate([*parts, np.zeros((0, *table.shape[1:]))])

    def _encoded(self, X: Any) -> Iterator[Examples]:
        """Yield the encoded inputs: all at once, `_together` at a time, or few if kernel values have many points."""
        assert isinstance(self.structure_, Compiled)
        n, points = n_examples(X), self.structure_.n_points
        first, step = 0, 1 if points else min(n, self._together or n)
        while first < n or first == 0:
            with by_position(np.arange(first, n)):
                examples = self.structure_.encode(self._features(X if step >= n else X[first : first + step]))
            yield examples
            if n == 0:
                return
            first, per_example = first + step, examples.n_rows / max(examples.n_examples, 1)
            if points:
                step = int(min(max(KERNEL_VALUES / max(points * per_example, 1.0), 1.0), 2 * step, max(n - first, 1)))

    def _answers(self, examples: Examples) -> Answers:
        """Return the best output of each encoded input."""
        answers, w = examples.empty_answers(), self._flat_weights()
        zeros = np.zeros(examples.n_examples)
        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(
                lambda ids, chunk: examples.decode(w, ids, zeros[chunk], answers), np.arange(examples.n_examples),
                examples.smallest_chunk,
            )  # fmt: skip
        messages.finish()
        return answers

    def _known_structure(self) -> Any:
        """Return the fitted structure, or the one to be fitted; None if it depends on data."""
        if hasattr(self, "structure_"):
            return self.structure_
        try:
            return self._make_structure()  # type: ignore[attr-defined]
        except (AttributeError, TypeError, ValueError):
            return None

    @available_if(_if_structure(_why_no_scores))
    def decision_scores(self, X: Any) -> Any:
        """Return, for every part of an output, the best score of an output that has this part (max-marginals).

            m_p(x) = max_{ŷ: ŷ has p} w·Ψ(x, ŷ)

        The greatest of them is the score of the prediction; the difference to it is what forcing a part costs. Parts
        that no output can have get −∞.

        Parameters
        ----------
        X : sequence
            Inputs.

        Returns
        -------
        list
            For each input an array, in the arrangement of the input: labels of `Multiclass`, tokens × labels of
            `Chain`, [head, node] of `Tree`, items × items of `Forest`, windows × strands of `Motif` (relative to no
            motif), nodes × labels of `Graph`, [left, right] of `BipartiteMatching`, edges of `Path` (NaN where, in a
            graph with cycles, a long search has not found the best path without repeated nodes). Structures over
            several blocks of parts return a dict of arrays by the names of the blocks: "nodes" and "edges" of `Cut`,
            with more than two labels lower bounds from the moves of one label.
            Rankings (`Ranking`) and sets of rows (`Contingency`) return the scores w·x of documents or rows.
        """
        check_is_fitted(self, "coef_")
        X = self._inputs(X)
        return list(chain.from_iterable(map(self._max_marginals, self._encoded(X))))

    def _max_marginals(self, examples: Examples) -> list[Any]:
        """Return the max-marginals of encoded inputs."""
        marginals: list[Any] = [None] * examples.n_examples
        w = self._flat_weights()

        def ask(ids: IntArray, chunk: slice) -> None:
            marginals[chunk] = examples.max_marginals(w, ids)

        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(ask, np.arange(examples.n_examples))
        messages.finish()
        return marginals

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return minus the mean loss of the predictions: higher is better, 0 is perfect.

        A label that is not a class, as in a fold that lacks it, is a wrong prediction of loss 1.

        Parameters
        ----------
        X, y : sequence
            Inputs and their true outputs.
        sample_weight : array-like of shape (n,), default=None
            Weight of each example in the mean; 1 by default.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        pairs = enumerate(zip(Y, self.predict(X), strict=True))
        losses = [_called(Place("Y", i), "loss", self._loss, y, y_hat) for i, (y, y_hat) in pairs]
        return -float(np.average(losses, weights=weights))

    def _loss(self, y: Any, y_hat: Any) -> float:
        structure = self.structure_
        return float(structure.score_loss(y, y_hat) if isinstance(structure, Compiled) else structure.loss(y, y_hat))

    @available_if(_if_structure(_why_no_topk))
    def topk(self, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best outputs of one input, with their scores.

        Parameters
        ----------
        x : object
            One input.
        k : int
            Number of outputs.

        Returns
        -------
        list of (output, float)
            At most k pairs, best first.
        """
        check_is_fitted(self, "coef_")
        k = whole_number(k, "k")
        with _one_input(self, x, "topk"):
            return own_copy(self._scored_structure().topk(self._flat_weights(), self._input_of(x), k))

    @available_if(_if_structure(why_not_explained))
    def explain(self, x: Any, n_features: int = 10) -> Explanation:
        """Return why an output won: the runner-up, the margin, and the features that contribute most.

        Parameters
        ----------
        x : object
            One input.
        n_features : int, default=10
            Number of features listed, those of greatest effect first.

        Returns
        -------
        Explanation
            The prediction and its runner-up.
        """
        check_is_fitted(self, "coef_")
        with _one_input(self, x, "explain"):
            structure, names = self._scored_structure(), self._explained_names()
            return explain(structure, self._flat_weights(), self._input_of(x), names, n_features)

    def _explained_names(self) -> Any:
        """Return the name of each weight, as an array or as a sequence that makes a name when it is read."""
        return self.feature_names_out

    @property
    def feature_names_out(self) -> AnyArray:
        """Name of each weight, in the order of the structure's weights."""
        check_is_fitted(self, "coef_")
        if hasattr(self, "terms_"):
            return np.array(self._scored_structure().names(), object)
        return self._weight_names(self.structure_, len(self._flat_weights()))

    def _weight_names(self, structure: Any, size: int) -> AnyArray:
        """Return the name of each weight of a structure."""
        if hasattr(structure, "feature_names"):
            return np.asarray(structure.feature_names(), object)
        return np.array([f"w{j}" for j in range(size)], object)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the name of each weight, as scikit-learn's transformers do.

        Parameters
        ----------
        input_features : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            The names.
        """
        return self.feature_names_out

    def weights_frame(self) -> Any:
        """Return the weights as a data frame, largest first (pandas: extra ``data``).

        Returns
        -------
        pandas.DataFrame
            The columns ``feature``, ``label``, ``next_label`` and ``weight`` of a tagger; ``feature``, ``label`` and
            ``weight`` of a classifier; ``feature`` and ``weight`` of most others. An entry that a weight does not have
            is None.
        """
        check_is_fitted(self, "coef_")
        return weights_frame(self._weight_columns(), self._flat_weights())

    def _weight_columns(self) -> dict[str, AnyArray]:
        """Return columns that describe the weights."""
        if type(self)._weight_names is Predictor._weight_names and isinstance(self.structure_, Compiled):
            return self.structure_.weight_columns()
        return {"feature": self.feature_names_out}


def _called(place: Place, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a method of a structure; errors carry the index of the example."""
    try:
        return method(*arguments)
    except Exception as error:
        raise StructureError.at(place, f"{name} raised {type(error).__name__}: {error}") from error


@contextmanager
def _one_input(estimator: Predictor, x: Any, method: str) -> Iterator[None]:
    """Raise a specific error if a method fails because x is a list of inputs."""
    try:
        yield
    except ValueError:
        n = _n_inputs(estimator, x)
        if n:
            raise ValueError(f"{method} takes one input x, found a list of {n} inputs") from None
        raise


def _n_inputs(estimator: Predictor, x: Any) -> int:
    """Return the number of inputs in x; 0 if x is not a list of inputs or if this is unknown."""
    if not isinstance(estimator.structure_, Compiled) or not is_list(x):
        return 0
    try:
        return estimator.structure_.encode(estimator._features(estimator._inputs(x))).n_examples
    except (TypeError, ValueError):
        return 0


def label_margins(scores: FloatArray) -> FloatArray:
    """Return the best minus the second best score of each row; infinite if only one label is possible."""
    best = np.partition(scores, -2, axis=1)
    margins: FloatArray = best[:, -1] - best[:, -2]
    return margins

"""Probabilities of outputs: marginals, samples, likelihoods, and decisions of least expected loss.

The scores of outputs, divided by a temperature T, are the logarithms of their probabilities up to a constant:
p(ŷ | x) ∝ exp(w·Ψ(x, ŷ) / T). Weights that were trained by likelihood have T = 1. Weights that were trained for a
margin have no natural temperature; ``temperature="auto"`` chooses the one of greatest likelihood on held-out halves of
the training data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import choice, declared, finite_number, parameter, positive_number, whole_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import by_position, paired_examples
from maxmargin._base.jit import messages
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Answers
from maxmargin.core.scores import Scores
from maxmargin.core.structure import Compiled
from maxmargin.core.sums import Sums, of_example, tempered
from maxmargin.engines.engine import Local, one_blas_thread
from maxmargin.estimators.predictor import Predictor

#: Range of temperatures that are tried, relative to the greatest score difference of a part.
COLDEST, HOTTEST = 1e-4, 1e4
#: Error of ``temperature="auto"``, which needs scores of whole true outputs.
NO_LATENT_TEMPERATURE = (
    'temperature="auto" needs whole true outputs, but parts of them are latent; pass a number, for example the one of '
    "best predictions on held-out data"
)
#: Halvings of the range of log T.
HALVINGS = 40


def check_temperature(value: Any, name: str) -> None:
    """Raise ValueError unless a temperature is a finite number > 0 or ``"auto"``."""
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, str) or not positive_number(value, name) < math.inf:
        raise ValueError(f'{name} must be a finite number > 0 or "auto", found {value!r}')


@declared
class Probabilistic(Predictor):
    """Mixin of estimators whose structures have sums over all outputs."""

    decode: str = parameter(
        'What `predict` returns: the output of best score (``"map"``), or that of least expected loss (``"risk"``), '
        "which marginals determine if the loss is a sum over parts. An input without an output of finite score, such "
        "as a sentence outside of a grammar, gets the same output by both.",
        choice("map", "risk"),
        default="map",
        kind='{"map", "risk"}',
    )
    temperature: Any = parameter(
        "Scores are divided by it in probabilities. Weights that were trained by likelihood have 1; "
        '``"auto"`` chooses the temperature of greatest likelihood on held-out halves of the training data, for which '
        "two more models are fitted.",
        check_temperature,
        default=1.0,
        kind='float or "auto"',
    )

    def predict_marginals(self, X: Any) -> Any:
        """Return the probability of every part of an output.

            p(part | x) = Σ_{ŷ: ŷ has the part} p(ŷ | x),      p(ŷ | x) ∝ exp(w·Ψ(x, ŷ) / T)

        Parameters
        ----------
        X : sequence
            Inputs.

        Returns
        -------
        list
            For each input an array in the arrangement of `decision_scores`: tokens × labels of a tagger in the order of
            `classes_`, [head, node] of a tree (symmetric if undirected), [i, j, label] of constituents, edges of a
            path, items of a knapsack, windows × strands of a motif; for an RNA a symmetric table of pairs of bases; for
            an alignment a dict with "matches" [row, column], "gaps" by position of both sequences (a column for gaps
            that open and one for those that go on, if affine) and, if local, "ends". Parts that no output can have
            get 0. A part that an output may have several times has the expectation of its count.
        """
        return list(chain.from_iterable(map(self._marginals, self._summable(X))))

    def sample(self, X: Any, n: int = 1, *, random_state: Any = 0) -> list[list[Any]]:
        """Return independent outputs drawn from their distribution.

        Parameters
        ----------
        X : sequence
            Inputs.
        n : int, default=1
            Number of outputs of each input.
        random_state : int, RandomState instance or None, default=0
            Seed. Samples of an input depend on the seed and on its position only, not on `n_jobs`.

        Returns
        -------
        list of list
            n outputs, as `predict` returns them, for each input.
        """
        n = whole_number(n, "n")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        drawn = list[list[Any]]()
        for examples in self._summable(X):
            seeds = rng.integers(0, 2**64, examples.n_examples, np.uint64)
            drawn += self._samples(examples, n, seeds)
        return drawn

    def log_likelihood(self, X: Any, y: Any) -> FloatArray:
        """Return log p(y | x) of each example.

        Parameters
        ----------
        X, y : sequence
            Inputs and their outputs.

        Returns
        -------
        ndarray of shape (n,)
            The logarithms of the probabilities of the outputs.
        """
        examples = self._encoded_pairs(X, y, "log_likelihood")
        logs = np.zeros(examples.n_examples)

        def ask(ids: IntArray, chunk: slice) -> None:
            scores = self._tempered_scores(examples, ids)
            logs[chunk] = examples.true_totals(scores, ids) - examples.sums(scores, ids).log_partitions

        self._in_threads(ask, examples)
        return np.minimum(logs, 0.0)

    def expected_loss(self, X: Any, y: Any) -> FloatArray:
        """Return the expected loss of the model's random outputs, if y is the true output of each input.

            E[Δ(y, ŷ)],      ŷ ~ p(· | x)

        If the loss is symmetric, this is also the expected loss of y as a decision: its risk.

        Parameters
        ----------
        X, y : sequence
            Inputs and their outputs.

        Returns
        -------
        ndarray of shape (n,)
            The expected losses.

        Raises
        ------
        ValueError
            If the loss is not a sum over parts.
        """
        examples = self._encoded_pairs(X, y, "expected_loss")
        losses = np.zeros(examples.n_examples)

        def ask(ids: IntArray, _: slice) -> None:
            for some in _batches(examples, ids):
                losses[some] = examples.expected_losses(self._tempered_scores(examples, some), some)

        self._in_threads(ask, examples)
        return losses

    def _encoded_pairs(self, X: Any, y: Any, method: str) -> Examples:
        """Return inputs and whole outputs, encoded, of a structure that has sums."""
        check_is_fitted(self, "coef_")
        X, y = paired_examples(self._checked_inputs(X), y)
        with by_position(np.arange(len(y))):
            examples: Examples = self.structure_.encode(self._features(X), y)  # type: ignore[attr-defined]
        self._check_summable(examples)
        if examples.latent:
            raise TypeError(f"outputs have latent variables, so {method} does not know the whole output")
        return examples

    # ------------------------------------------------------------------ how

    #: The temperature of a fitted model; models of earlier versions have 1.
    temperature_ = 1.0

    def _missed_cost(self) -> float:
        """Return the cost of a missed part relative to that of a false part, where the loss leaves it open."""
        return 1.0

    def _checked_inputs(self, X: Any) -> Any:
        """Return inputs as `predict` checks them."""
        return self._inputs(X)

    def _summable(self, X: Any) -> Any:
        """Yield encoded inputs, a few at a time; raise TypeError if the structure has no sums."""
        check_is_fitted(self, "coef_")
        _check_compiled(self.structure_)
        for examples in self._encoded(self._checked_inputs(X)):
            self._check_summable(examples)
            yield examples

    def _check_decisions(self, structure: Any, examples: Examples) -> None:
        """Raise an error if `decode` or `temperature` asks for what encoded training examples do not have."""
        automatic = isinstance(self.temperature, str)
        if self.decode == "map" and not automatic:
            return
        _check_compiled(structure)
        self._check_summable(examples)
        if automatic and examples.latent:
            raise TypeError(NO_LATENT_TEMPERATURE)
        if self.decode == "risk":  # whether the loss is a sum over parts does not depend on the weights
            first = np.zeros(1, np.int64)
            scores = examples.scores(np.zeros(examples.dim), first)
            examples.risk_scores(examples.sums(scores, first).marginals, scores, first, self._missed_cost())

    @staticmethod
    def _check_summable(examples: Examples) -> None:
        if not examples.summable:
            raise examples.not_summable()

    def _tempered_scores(self, examples: Examples, ids: IntArray) -> list[Scores]:
        return tempered(examples.scores(self._flat_weights(), ids), self.temperature_)

    def _in_threads(self, task: Callable[[IntArray, slice], None], examples: Examples) -> None:
        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(task, np.arange(examples.n_examples), examples.smallest_chunk)
        messages.finish()

    def _marginals(self, examples: Examples) -> list[Any]:
        """Return the marginals of encoded inputs, one arrangement for each."""
        marginals: list[Any] = [None] * examples.n_examples

        def ask(ids: IntArray, _: slice) -> None:
            for some in _batches(examples, ids):
                scores = self._tempered_scores(examples, some)
                sums = _checked(examples.sums(scores, some), some)
                tables = [Scores(values, own.starts) for values, own in zip(sums.marginals, scores, strict=True)]
                for r, i in enumerate(some.tolist()):
                    marginals[i] = examples.arranged_marginals([own.values for own in of_example(tables, r)], i)

        self._in_threads(ask, examples)
        return marginals

    def _samples(self, examples: Examples, n: int, seeds: Any) -> list[list[Any]]:
        codes = np.zeros((n, int(examples.code_offsets[-1])), np.int32)
        offsets = examples.code_offsets

        def ask(ids: IntArray, chunk: slice) -> None:
            scores = self._tempered_scores(examples, ids)
            _checked(examples.sums(scores, ids), ids)
            codes[:, offsets[ids[0]] : offsets[ids[-1] + 1]] = examples.samples(scores, ids, n, seeds[chunk])

        self._in_threads(ask, examples)
        answers = examples.empty_answers()
        answers.keys[:] = 1
        rounds = list[list[Any]]()
        for code in codes:
            answers.codes[:] = code
            rounds.append(examples.outputs(answers))
        return [list(outputs) for outputs in zip(*rounds, strict=True)]

    def _answers(self, examples: Examples) -> Answers:
        """Return the best output of each encoded input, or that of least expected loss."""
        if self.decode == "map":
            return super()._answers(examples)
        self._check_summable(examples)
        answers = examples.empty_answers()

        def ask(ids: IntArray, _: slice) -> None:
            for some in _batches(examples, ids):
                scores = self._tempered_scores(examples, some)
                sums = examples.sums(scores, some)
                possible = sums.log_partitions > -np.inf
                if not possible.all():  # such as sentences outside of a grammar, whose best output is glued
                    none, some = some[~possible], some[possible]
                    examples.decode_scores(self._tempered_scores(examples, none), none, np.zeros(len(none)), answers)
                    if not len(some):
                        continue
                    scores = self._tempered_scores(examples, some)
                    sums = examples.sums(scores, some)
                risks = examples.risk_scores(sums.marginals, scores, some, self._missed_cost())
                examples.decode_scores(risks, some, np.zeros(len(some)), answers)

        self._in_threads(ask, examples)
        return answers


@declared
class ProbabilisticSets(Probabilistic):
    """Mixin of estimators whose outputs are sets of parts, which may be missed or false."""

    gamma: float = parameter(
        'Cost of a missed part relative to that of a false part, for ``decode="risk"`` where an output is a set of '
        "parts (pairs, arcs, matches): larger values predict more parts.",
        finite_number,
        default=1.0,
    )

    def _missed_cost(self) -> float:
        return float(self.gamma)


def _check_compiled(structure: Any) -> None:
    """Raise TypeError for a user-defined structure."""
    if not isinstance(structure, Compiled):
        raise TypeError(
            f"{type(structure).__name__} has no probabilities: sums over its outputs are not known; a user-defined "
            f"structure has argmaxes only"
        )


def _batches(examples: Examples, ids: IntArray) -> list[IntArray]:
    """Return batches whose marginals are known for each example."""
    return [ids[r : r + 1] for r in range(len(ids))] if examples.marginals_apart else [ids]


def _checked(sums: Sums, ids: IntArray) -> Sums:
    """Return the sums; raise ExampleError if an example has no output."""
    none = np.flatnonzero(sums.log_partitions == -np.inf)
    if len(none):
        place = Place("X", int(ids[none[0]]))
        raise ExampleError.at(place, "the allowed parts form no output, so there are no probabilities")
    return sums


def best_temperature(held_out: list[tuple[Examples, FloatArray]]) -> float:
    """Return the temperature of greatest likelihood of examples under weights that were not trained on them.

    With β = 1 / T, the negative log-likelihood Σ log Z(β s) − β s(y) is convex in β, and its derivative is Σ E_β[s] −
    s(y): the sign is found by bisection in log T.
    """

    def too_cold(T: float) -> bool:
        slope = 0.0
        for examples, w in held_out:
            ids = np.arange(examples.n_examples)
            for k in range(0, len(ids), 256):
                some = ids[k : k + 256]
                scores = examples.scores(w, some)
                sums = examples.sums(tempered(scores, T), some)
                slope += float((T * sums.expected_scores - examples.true_totals(scores, some)).sum())
        return slope > 0.0  # likely outputs score more than the truth: a greater T spreads the probability

    size = max((float(np.abs(w).max(initial=0.0)) for _, w in held_out), default=0.0)
    if size == 0.0:
        return 1.0
    low, high = math.log(COLDEST * size), math.log(HOTTEST * size)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if too_cold(math.exp(middle)) else (low, middle)
        if high - low < 1e-6:
            break
    return math.exp(0.5 * (low + high))

"""Encoded decisions: costs are scores of parts, and an optimiser is the argmax.

With predicted costs ĉ_j = w·φ_j (+ known costs) and σ = 1 for minimisation, −1 for maximisation,

    w·Ψ(x, z) = −κσ Σ_j z_j ĉ_j          Δ(z*, z) = Σ_j l_j (z_j − z*_j)

with κ = 1 if decisions are known, and κ = 2 and l = σ c if costs c are known: then Δ is the regret of z, and the
structured hinge max_z Δ + w·Ψ(x, z) − w·Ψ(x, z*) is the SPO+ loss of Elmachtoub and Grigas 2022. A loss-augmented
argmax minimises κσ ĉ − scale · l.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from maxmargin._base.errors import Place
from maxmargin._base.ragged import ONLY, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Answers, Planes, rounding_units
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.core.sums import PERTURB
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.parts import row_sums
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import joined
from maxmargin.structures.decisions import _jit

#: Relative excess of the total of a decision over that of a known one, above which an argmax is not exact.
WORSE = 1e-6


class DecisionExamples(Examples):
    """Examples of decisions.

    Parameters
    ----------
    structure : Decisions
        The structure.
    optimizer : Optimizer
        Decides for a batch of costs.
    blocks : sequence of Block
        Features; the predicted cost of a variable is the sum of its scores in all blocks.
    offsets : ndarray of int64
        The variables of example i are ``offsets[i]:offsets[i + 1]``.
    known : ndarray or None
        Known costs of all variables, in the units of predicted ones.
    instances : sequence or None
        What the optimiser gets besides costs.
    truths : ndarray or None
        Known decisions of all variables; None for prediction.
    losses : ndarray
        l of all variables.
    factor : float
        κ.
    whole : bool
        Whether decisions are integers.
    """

    optional_parts = True
    why_not_summable = (
        "an optimiser finds the best decision, and says nothing about the sum over all of them, which is #P-hard for "
        f"most; {PERTURB}"
    )

    def __init__(
        self,
        structure: Any,
        optimizer: Optimizer,
        blocks: Sequence[Block],
        offsets: IntArray,
        known: FloatArray | None,
        instances: Any,
        truths: FloatArray | None,
        losses: FloatArray,
        factor: float,
        whole: bool,
    ) -> None:
        self.structure, self.optimizer, self.blocks, self.offsets = structure, optimizer, tuple(blocks), offsets
        self.known, self.instances, self.true, self.linear, self.whole = known, instances, truths, losses, whole
        self.factor = factor * optimizer.sign
        self.n_examples, self.dim = len(offsets) - 1, sum(block.dim for block in blocks)
        self.widths = np.diff(offsets)
        self.even = self.n_examples > 0 and bool((self.widths == self.widths[0]).all())
        self.code_offsets = offsets if whole else 2 * offsets
        self.exact, self.bounded = optimizer.exact, not optimizer.exact
        self.user_code = optimizer.checked
        self.fixed_scores = known is not None
        self.lower = np.zeros(self.dim) if optimizer.costs == "nonnegative" else None
        self.perturbable = () if optimizer.costs == "nonnegative" else None
        self.parallel = not optimizer.checked and optimizer.batch
        self.smallest_chunk = 64 if self.parallel else 1
        called = 1.0 if self.parallel else 20000.0 * self.n_examples / max(1, int(offsets[-1]))
        self.operations = sum(block.operations for block in blocks) + float(offsets[-1]) * max(
            optimizer.operations if self.parallel else 0.0, called
        )
        self.plane_entries = np.zeros(self.n_examples, np.int64)
        for block in blocks:
            most = self.widths * block.fullest(self.n_examples)
            self.plane_entries += np.minimum(most, block.dim)
        self.true_codes = np.full(int(self.code_offsets[-1]), -1, np.int32) if truths is None else self._coded(truths)

    # ------------------------------------------------------------------ decoding

    def costs(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return predicted costs of ids, which have the same number m of variables, as an array (n, m)."""
        m, shift = int(self.widths[ids[0]]), 0
        total = None if self.known is None else self._of(self.known, ids)
        for block in self.blocks:
            scores = block.scores(w[shift : shift + block.dim], ids).values.reshape(len(ids), m)
            total = scores if total is None else total + scores
            shift += block.dim
        assert total is not None
        return total

    def asked_costs(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return the costs to minimise for a single example with and without its loss, as an array (2, m)."""
        costs = np.repeat(self.costs(w, ids), 2, axis=0)
        augmented = np.empty_like(costs)
        _jit.augment(np.repeat(ids, 2), self.offsets, self.linear, self.factor, np.array([1.0, 0.0]), costs, augmented)
        return augmented

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        for some in self._same_width(ids):
            self._decode(self.costs(w, ids[some]), ids[some], scales[some], answers)

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return −κσ ĉ_j of all variables, as one block: the parts of a decision are its variables."""
        starts = offsets_of(self.widths[ids])
        values = np.empty(int(starts[-1]))
        for some in self._same_width(ids):
            values[spans(np.arange(len(ids))[some], starts)] = -self.factor * self.costs(w, ids[some]).ravel()
        return [Scores(values, starts)]

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        values, starts = scores[0]
        for some in self._same_width(ids):
            costs = values[spans(np.arange(len(ids))[some], starts)] / -self.factor
            self._decode(costs.reshape(len(ids[some]), -1), ids[some], scales[some], answers)

    def _decode(self, scores: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        augmented = np.empty_like(scores)
        bad = _jit.augment(ids, self.offsets, self.linear, self.factor, scales, scores, augmented)
        if bad >= 0:
            raise StructureError.at(Place("X", ids[bad]), "the predicted costs are not finite")
        instances = None if self.instances is None else [self.instances[i] for i in ids.tolist()]
        known = None if self.true is None or self.exact else self._of(self.true, ids)
        decisions, lower = self.optimizer.decide(augmented, instances, ids, known)
        if self.true is None:
            answers.rises[ids], answers.losses[ids] = -np.einsum("ij,ij->i", scores, decisions), 0.0
            self._encode(decisions, ids, answers)
            return
        excesses, sizes = np.empty(len(ids)), np.empty((len(ids), 2))
        _jit.judge(
            ids, self.offsets, self.linear, self.true, scales, scores, augmented, decisions, answers.rises,
            answers.losses, excesses, sizes,
        )  # fmt: skip
        self._encode(decisions, ids, answers)
        losses = answers.losses[ids]
        if (losses < 0.0).any() or (excesses > 0.0).any():
            self._watch(augmented, decisions, excesses, losses, WORSE * sizes, ids)
            answers.losses[ids] = np.maximum(losses, 0.0)
        if self.bounded:
            true = np.einsum("ij,ij->i", augmented, self._of(self.true, ids))
            answers.upper[ids] = np.maximum(true - lower, answers.rises[ids] + scales * answers.losses[ids])

    def _watch(
        self, augmented: FloatArray, decisions: FloatArray, excesses: FloatArray, losses: FloatArray, sizes: FloatArray,
        ids: IntArray,
    ) -> None:  # fmt: skip
        """Note as `fault` that a decision is worse than a known one, or a known one worse than one found."""
        worse, better = np.flatnonzero(excesses > sizes[:, 0]), np.flatnonzero(losses < -sizes[:, 1])
        if not self.exact or self.fault is not None:
            return
        if len(worse):
            r = worse[0]
            total = float(augmented[r] @ decisions[r])
            what = f"solve returned a decision with total {total:.6g} for costs during training, worse than a known one"
            why = ""
            if self.optimizer.checked and (self.optimizer.sign * augmented[r] < 0.0).any():
                why = "; if it cannot handle negative costs, pass costs='nonnegative' to the Optimizer"
            self.fault = int(ids[r]), f"{what} with total {total - excesses[r]:.6g}{why}"
        elif len(better):
            r, unit = better[0], self.structure.cost_scale_
            assert self.true is not None
            known = unit * float(self._of(self.linear, ids[[r]])[0] @ self._of(self.true, ids[[r]])[0])
            what = f"the decision known or returned for the true costs has total {known:.6g}, worse than another"
            self.fault = int(ids[r]), f"{what} with total {known + unit * losses[r]:.6g}"

    def rounding_units(self) -> FloatArray:
        """Return the errors of totals: each cost is at most the norm of its features times ‖w‖."""
        terms, norms = self.widths.astype(float), np.zeros(self.n_examples)
        for block in self.blocks:
            terms += block.fullest(self.n_examples)
            norms += self.widths * block.largest_norms(self.n_examples)
        most = 1.0 if self.true is None else max(1.0, float(np.abs(self.true).max(initial=1.0)))
        return rounding_units(terms, abs(self.factor) * most * norms)

    def _encode(self, decisions: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Write codes and keys of decisions; raise StructureError if one is not whole where all known ones are."""
        codes = answers.codes
        if not self.whole:
            codes[spans(ids, self.code_offsets)] = self._coded(decisions)
        else:
            r = _jit.encode_whole(ids, self.code_offsets, decisions, codes)
            if r >= 0:
                raise StructureError.at(Place("X", ids[r]), f"solve returned {_not_whole(decisions[r])}")
        row_sums.code_keys(ids, self.code_offsets, codes, self.true_codes, self.true is not None, answers.keys)

    def _same_width(self, ids: IntArray) -> Iterator[Any]:
        """Yield positions in ids of examples with the same number of variables."""
        widths = self.widths[ids]
        if self.even or (len(ids) and (widths == widths[0]).all()):
            yield slice(None)
            return
        for m in np.unique(widths):
            yield np.flatnonzero(widths == m)

    def _of(self, values: FloatArray, ids: IntArray) -> FloatArray:
        """Return the entries of the variables of ids as an array (n, m)."""
        m = int(self.widths[ids[0]])
        if self.even:
            return values.reshape(-1, m)[ids]
        return values[self.offsets[ids][:, None] + np.arange(m)]

    # ------------------------------------------------------------------ codes and planes

    def _coded(self, decisions: FloatArray) -> CodeArray:
        flat = np.ascontiguousarray(decisions, float).ravel() + 0.0
        large = np.flatnonzero(np.abs(flat) > _jit.MOST)
        if self.whole and len(large):
            i = int(np.searchsorted(self.offsets, large[0], "right")) - 1
            raise StructureError.at(Place("Y", i), f"found {_not_whole(flat[slice(*self.offsets[i : i + 2])])}")
        return flat.astype(np.int32) if self.whole else flat.view(np.int32)

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        counts = self._changes(ids, answers)
        out, shift = None, 0
        for block in self.blocks:
            scratch = np.zeros(block.dim)
            rows = block.sums(ids, counts, self.n_examples, scratch, np.float64)
            out = rows if out is None else joined(out, rows, shift)
            shift += block.dim
        assert out is not None
        return out

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        return [self._changes(ids, answers).scaled(np.full(len(ids), -1.0 / self.factor))]

    def _changes(self, ids: IntArray, answers: Answers) -> Planes:
        """Return κσ (ẑ − z*) as sparse rows over variables."""
        assert self.true is not None
        symbols = answers.codes[spans(ids, self.code_offsets)]
        flat = symbols.astype(float) if self.whole else np.ascontiguousarray(symbols).view(np.float64)
        out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(len(flat) + 1, np.uint32), np.empty(len(flat) + 1))
        _jit.changes(ids, self.offsets, flat, self.true, self.factor, out.indptr, out.indices, out.values)
        return out.trimmed()

    def joint_features(self) -> FloatArray:
        """Return Ψ(x, y) of a single example as a dense vector."""
        assert self.true is not None
        taken = np.flatnonzero(self.true)
        counts = Planes(np.array([0, len(taken)]), taken.astype(np.uint32), -self.factor * self.true[taken])
        psis = [block.sums(ONLY, counts, 1, np.zeros(block.dim), np.float64).matrix(block.dim) for block in self.blocks]
        return np.concatenate([psi.toarray()[0] for psi in psis])

    def output(self, example: int, key: int, code: CodeArray) -> AnyArray:
        return code.astype(np.int64) if self.whole else np.ascontiguousarray(code).view(np.float64).copy()

    # ------------------------------------------------------------------ data

    def take(self, ids: IntArray) -> DecisionExamples:
        at = spans(ids, self.offsets)
        factor = self.factor * self.optimizer.sign
        return DecisionExamples(
            self.structure, self.optimizer, [block.take(ids) for block in self.blocks], offsets_of(self.widths[ids]),
            None if self.known is None else self.known[at],
            None if self.instances is None else [self.instances[i] for i in ids.tolist()],
            None if self.true is None else self.true[at], self.linear[at], factor, self.whole,
        )  # fmt: skip

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        features = [array for block in self.blocks for array in block.arrays()]
        given = [array for array in (self.known, self.true) if array is not None]
        return *features, self.offsets, *given, self.linear, np.array([self.factor])


def _not_whole(decision: FloatArray) -> str:
    """Return the fault of a decision that is not integers of 32 bits."""
    large = np.flatnonzero(np.abs(decision) > _jit.MOST)
    if len(large):
        return (
            f"the value {decision[large[0]]:.6g} of variable {large[0]}, but integers of decisions are at most "
            f"{_jit.MOST:.0f}; pass integral=False for greater ones"
        )
    j = int(np.flatnonzero(np.rint(decision) != decision)[0])
    return (
        f"the fractional value {decision[j]:.6g} of variable {j}, but all known decisions are integers; solve the "
        f"integer program, or pass integral=False if decisions may be fractional"
    )

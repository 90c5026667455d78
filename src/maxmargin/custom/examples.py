"""Examples of a user-defined structure."""

from __future__ import annotations

import numbers
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._base.checks import finite_number
from maxmargin._base.errors import Place
from maxmargin._base.fingerprint import Fingerprint
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import TRUTH, Answers, Planes, float32_exact, gathered, rounding_units
from maxmargin.core.structure import Bounded, Structure, StructureError
from maxmargin.custom.any_values import flat_copy, is_flat, own_copy, same
from maxmargin.custom.arguments import completed, declared_size, loss_values, raised_by, read_only, shown
from maxmargin.custom.batches import Batch
from maxmargin.custom.joint_features import check_rows, joint_feature_rows, may_share_memory
from maxmargin.features.rows.rows import squared_norms

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: Answers whose planes are computed together: few enough to stay in the cache, enough to amortise the calls.
TOGETHER = 128

#: Greatest loss of a truth that counts as rounding error.
LOSS_OF_TRUTH = 1e-6

#: Maximum number of outputs of an input that are listed where a search leaves a gap.
MOST_LISTED = 1000

#: Number of examples whose argmaxes enter a fingerprint of the data, and of random weights that they are asked at.
DIGEST_SAMPLE, DIGEST_WEIGHTS = 32, 3


class CustomExamples(Examples):
    """Examples that call the user's methods one by one and turn the results into planes.

    The key of a plane is a hash of its entries and its loss. The user's objects behind planes that a solver holds are
    kept.

    Parameters
    ----------
    structure : Structure
        The user-defined structure.
    X, Y : sequence
        Inputs and true outputs.
    latent : bool, default=False
        Whether outputs are pairs (y, h) of which Y holds only y.
    """

    smallest_chunk, coded, user_code = 1, False, True
    #: Attributes that belong to the current decode and process.
    _transient: ClassVar[frozenset[str]] = frozenset({"_batches", "_idle", "_row", "_indexed", "_held", "_scratch"})

    def __init__(self, structure: Structure, X: Sequence[Any], Y: Sequence[Any], latent: bool = False) -> None:
        self.structure, self.X, self.Y, self.latent = structure, X, Y, latent
        self.n_examples = len(Y)
        self.exact = bool(getattr(structure, "exact", True))
        self.bounded = not self.exact
        self.code_offsets = np.zeros(self.n_examples + 1, np.int64)
        self.operations = self.n_examples * finite_number(
            getattr(structure, "argmax_operations", Structure.argmax_operations), "argmax_operations", 1.0
        )
        self.size = declared_size(structure)
        self._copies, self._unchecked = False, self.n_examples  # `_kept` checks the truths and one sweep
        self._flat = True  # whether the outputs of that sweep are lists of numbers or strings
        self.outputs_known = self._completed_without_weights() if latent else Y
        self.true_rows = self._encode_truths()
        self.dim = int(self.size)  # type: ignore[arg-type]
        self.float32_exact = float32_exact(self.true_rows.values)  # working sets check what is found later
        self.plane_entries = 2 * np.diff(self.true_rows.indptr) + 1
        self._largest = np.zeros((self.n_examples, 2))  # squared norm and number of entries of planes found so far
        self._begin_empty()

    def _begin_empty(self) -> None:
        """Set the attributes of the current decode and process to their initial values."""
        self._batches: list[Batch] = []  # of the current decode
        self._idle: list[Batch] = []
        self._row, self._indexed = np.zeros(self.n_examples, np.int64), False
        self._held: dict[int, Any] = {}  # by an int, which the garbage collector does not track, unlike a pair
        self._scratch = threading.local()

    def _encode_truths(self) -> Planes:
        ids, psis = np.arange(self.n_examples), []
        self._check_feasible()
        self._check_losses_of_truths()
        try:
            for i in range(self.n_examples):
                psis.append(self.structure.joint_feature(self.X[i], self.outputs_known[i]))
        except MemoryError:
            raise
        except Exception as error:
            raise raised_by("joint_feature", error, len(psis)) from error
        truths = self._rows(ids, self._kept(ids, psis, self.outputs_known))
        if self.size is None:
            raise StructureError(
                "joint_feature returns (indices, values) or a dict, so the number of weights is unknown: set the "
                "attribute `size` of the structure"
            )
        check_rows(ids, truths, self.size)
        return truths

    def feasible(self, i: int, output: Any) -> bool:
        """Return whether an output is one of example i; True if the structure has no method `feasible`."""
        method = getattr(self.structure, "feasible", None)
        return method is None or bool(method(self.X[i], output))

    def _check_feasible(self) -> None:
        """Raise StructureError if the structure rejects a true output."""
        for i in range(self.n_examples if hasattr(self.structure, "feasible") else 0):
            try:
                feasible = self.feasible(i, self.outputs_known[i])
            except Exception as error:
                raise raised_by("feasible", error, i) from error
            if not feasible:
                raise StructureError.at(
                    Place("Y", i),
                    f"the true output {shown(self.outputs_known[i])} is not feasible: feasible(x, y) is false for it; "
                    f"correct the output, leave the example out, or correct feasible",
                )

    def _check_losses_of_truths(self) -> None:
        """Raise StructureError if the loss of a truth is not 0: hinges would never be 0."""
        for i in range(0 if self.latent else self.n_examples):
            try:
                loss = float(self.structure.loss(self.Y[i], self.Y[i]))
            except Exception:  # outputs may be of another kind than truths
                return
            if LOSS_OF_TRUTH < loss < np.inf:
                raise StructureError.at(
                    Place("Y", i), f"loss(y, y) is {loss:g}, expected 0: an output that is right costs nothing"
                )

    # ------------------------------------------------------------------ latent variables

    def _completed_without_weights(self) -> list[Any]:
        """Return (y, h) of every example, with the best h at weights of 0."""
        if self.size is None:
            raise StructureError(
                "a structure with latent variables must declare the number of weights: set the attribute `size`"
            )
        w, outputs = read_only(np.zeros(self.size)), []
        try:
            for x, y in zip(self.X, self.Y, strict=True):
                outputs.append(own_copy(self._completed(w, x, y)))
        except Exception as error:
            raise raised_by("complete", error, len(outputs)) from error
        return outputs

    def _completed(self, w: FloatArray, x: Any, y: Any, _: Any = None) -> tuple[Any, Any]:
        before = deepcopy(y)
        output = completed(y, self.structure.complete(w, x, y))  # type: ignore[attr-defined]
        if not same(before, y):
            raise ValueError("it changed y in place, expected y unchanged")
        return output

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        self._answer(w, ids, "complete", [None] * len(ids), answers, self._completed)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        first = getattr(self.structure, "initial_completion", None)
        if first is None:
            return super().initial_completion(rng, answers)
        ids, w = np.arange(self.n_examples), np.zeros(self.dim)
        return self._answer(
            w, ids, "initial_completion", [rng] * len(ids), answers, lambda w, x, y, rng: completed(y, first(x, y, rng))
        )

    # ------------------------------------------------------------------ argmaxes

    def begin(self, ids: IntArray) -> None:
        self._idle += self._batches
        self._batches, self._indexed = [], False

    def _new_batch(self, ids: IntArray) -> Batch:
        try:
            batch = self._idle.pop()  # another thread may have taken the last one
        except IndexError:
            batch = Batch()
        batch.begin(ids)
        return batch

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._answer(w, ids, "loss_augmented_argmax", scales.tolist(), answers)
        if self.bounded:
            self._check_bounds(ids, scales, answers)

    @staticmethod
    def _check_bounds(ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Raise StructureError if an upper bound is below the value of the output that it was returned with."""
        value, upper = answers.rises[ids] + scales * answers.losses[ids], answers.upper[ids]
        below = np.flatnonzero(upper < value - 1e-7 * (1.0 + np.abs(value)))
        if len(below):
            r = int(below[0])
            raise StructureError.at(
                Place("X", ids[r]),
                f"loss_augmented_argmax returned an upper bound that is below the value of its own output by "
                f"{value[r] - upper[r]:g}",
            )

    def exact_for(self, bound: Bound) -> bool:
        return hasattr(self.structure, "bound_argmax")

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._answer(w, ids, "bound_argmax", [bound] * len(ids), answers)

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether all outputs of an input can be listed."""
        return hasattr(self.structure, "enumerate") and not self.latent

    def close(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray) -> FloatArray:
        """Answer with the best of all outputs, where `enumerate` lists no more than `MOST_LISTED`."""
        listed = [self._listed(i) for i in ids.tolist()]
        few, closed = np.array([len(outputs) <= MOST_LISTED for outputs in listed], bool), upper.copy()
        choices = [(i, listed[r]) for r, i in enumerate(ids.tolist()) if few[r]]

        def best(w: FloatArray, x: Any, y: Any, choice: tuple[int, list[Any]]) -> Any:
            i, outputs = choice
            rows = self._rows(np.full(len(outputs), i), [self._copied_joint_feature(x, o) for o in outputs])
            losses = np.array([self.structure.loss(y, o) for o in outputs], float)
            rises = rows.dot(w) - self.true_rows.dot_of(np.array([i]), w)
            return outputs[int(np.argmax(bound.violation(rises, losses)))]

        self._answer(w, ids[few], "enumerate", choices, answers, best)
        closed[few] = np.maximum(bound.violation(answers.rises[ids[few]], answers.losses[ids[few]]), 0.0)
        return closed

    def number_listed(self, i: int) -> int:
        """Return the number of outputs of an input that `enumerate` lists, at most one more than `MOST_LISTED`."""
        return len(self._listed(i))

    def best_listed(self, w: FloatArray, ids: IntArray, bound: Bound) -> tuple[FloatArray, Answers]:
        """Return the greatest violations at w of the outputs that `enumerate` lists, without a trace."""
        with self._without_trace() as answers:
            upper = self.close(w, ids, bound, answers, np.full(len(ids), np.inf))
        return upper, answers

    def _listed(self, i: int) -> list[Any]:
        """Return the outputs of an input, at most one more than `MOST_LISTED`."""
        try:
            return list(map(own_copy, islice(self.structure.enumerate(self.X[i]), MOST_LISTED + 1)))  # type: ignore[attr-defined]
        except Exception as error:
            raise raised_by("enumerate", error, i) from error

    def rounding_units(self) -> FloatArray:
        """Return the errors of rises computed from planes, with features of the size that those of the truth have."""
        squares = squared_norms(self.true_rows.indptr, self.true_rows.values)
        return rounding_units(2.0 * np.diff(self.true_rows.indptr), 2.0 * np.sqrt(squares))

    def noted(self, ids: IntArray) -> FloatArray:
        return self._largest[ids]

    def note(self, ids: IntArray, noted: FloatArray) -> None:
        self._largest[ids] = np.maximum(self._largest[ids], noted)

    def rounding_units_found(self) -> FloatArray:
        """Return the errors of rises, with features of the size of those of the truth and of the planes found so far.

        ‖Ψ(x, ŷ)‖ ≤ ‖Ψ(x, y)‖ + ‖a‖. Examples without a plane are taken to have some of the size of the largest one of
        other examples, since nothing else is known of their outputs.
        """
        known = self._largest[:, 1:] > 0
        largest = np.where(known, self._largest, self._largest.max(axis=0, initial=0.0))
        norms = np.sqrt(squared_norms(self.true_rows.indptr, self.true_rows.values))
        return rounding_units(
            2.0 * np.diff(self.true_rows.indptr) + largest[:, 1], 2.0 * norms + np.sqrt(largest[:, 0])
        )

    def _answer(
        self, w: FloatArray, ids: IntArray, name: str, last: list[Any], answers: Answers, ask: Any = None
    ) -> None:
        """Call a method for each example of ids, with last[r] as the last argument, and write the answers."""
        w, batch = read_only(w), self._new_batch(ids)
        ask = getattr(self.structure, name) if ask is None else ask
        losses = np.empty(len(ids))
        for k in range(0, len(ids), TOGETHER):
            some = slice(k, k + TOGETHER)
            psis, losses[some] = self._asked(w, ids[some], name, last[some], ask, batch)
            self._add_rows(batch, k, self._rows(ids[some], psis), losses[some], w)
        answers.losses[ids], answers.rises[ids], answers.keys[ids] = losses, batch.rises, batch.keys
        sizes = np.column_stack([squared_norms(batch.indptr, batch.values), np.diff(batch.indptr)])
        self._largest[ids] = np.maximum(self._largest[ids], sizes)
        if len(answers.outputs):
            answers.outputs[ids] = np.fromiter(batch.outputs, object, len(ids))
        if self.bounded:
            answers.upper[ids] = np.inf
            known = np.array(list(batch.uppers), np.int64)
            answers.upper[known] = np.array(list(batch.uppers.values())) - self.true_rows.dot_of(known, w)
        self._batches.append(batch)

    def _asked(
        self, w: FloatArray, ids: IntArray, name: str, last: list[Any], ask: Any, batch: Batch
    ) -> tuple[list[Any], FloatArray]:
        """Call a method for each example of ids and return joint features and losses; the batch keeps the outputs."""
        X, Y, loss, outputs = self.X, self.Y, self.structure.loss, batch.outputs
        joint_feature = self._copied_joint_feature if self._copies else self.structure.joint_feature
        copy_output = flat_copy if self._flat and self._unchecked <= 0 else own_copy
        before = len(outputs)
        psis: list[Any] = []
        losses: list[float] = []
        try:
            for i, argument in zip(ids.tolist(), last, strict=True):
                x, y = X[i], Y[i]
                output = ask(w, x, y, argument)
                if type(output) is Bounded:
                    output, batch.uppers[i] = output.output, _upper(output.upper)
                outputs.append(copy_output(output))  # at once: the next call may overwrite the same object
                psis.append(joint_feature(x, output))
                losses.append(loss(y, output))
        except MemoryError:
            raise
        except Exception as error:
            r = len(losses)
            culprit = name if len(outputs) == before + r else "joint_feature" if len(psis) == r else "loss"
            if culprit != name and outputs[-1] is None:
                raise StructureError.at(Place("X", ids[r]), f"{name} returned None, expected an output") from error
            raise raised_by(culprit, error, int(ids[r])) from error
        if self._unchecked > 0:
            self._flat = self._flat and all(map(is_flat, outputs[before:]))
            psis, self._unchecked = self._kept(ids, psis, outputs[before:]), self._unchecked - len(ids)
        return psis, loss_values(losses, ids)

    def _kept(self, ids: IntArray, psis: list[Any], outputs: Sequence[Any]) -> list[Any]:
        """Return joint features that later calls cannot overwrite.

        If the structure returns the same work array every time, the joint features of these outputs are computed again
        and, from then on, copied at once.
        """
        if self._copies or not may_share_memory(psis):
            return psis
        self._copies = True
        return [self._copied_joint_feature(self.X[i], output) for i, output in zip(ids.tolist(), outputs, strict=True)]

    def _copied_joint_feature(self, x: Any, output: Any) -> Any:
        return own_copy(self.structure.joint_feature(x, output))

    def _rows(self, ids: IntArray, psis: list[Any]) -> Planes:
        """Return joint features of any form as CSR rows; the first dense or sparse vector sets `size` if it is None."""
        rows, self.size = joint_feature_rows(ids, psis, self.size)
        return rows

    def _add_rows(self, batch: Batch, k: int, planes: Planes, losses: FloatArray, w: FloatArray) -> None:
        """Write the planes of the joint features found into the rows of the batch from k on."""
        scratch = getattr(self._scratch, "array", None)
        if scratch is None:
            scratch = self._scratch.array = np.zeros(self.dim)
        if not batch.add_planes(k, self.true_rows, planes, losses, w, scratch):
            check_rows(batch.ids[k : k + len(planes)], planes, self.dim)

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        if len(ids) == 0:
            return Planes(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0))
        rows = self._rows_of(ids, answers.keys[ids])
        if rows is None:
            return self._planes_again(ids, answers)
        planes = self._found()
        return gathered(planes.indptr[rows], planes.indptr[rows + 1], planes.indices, planes.values)

    def _planes_again(self, ids: IntArray, answers: Answers) -> Planes:
        """Return planes of outputs that are older than the last decode or come from another process."""
        joint_feature = self._copied_joint_feature if self._copies else self.structure.joint_feature
        outputs = [answers.outputs[i] for i in ids.tolist()]
        psis = [joint_feature(self.X[i], output) for i, output in zip(ids.tolist(), outputs, strict=True)]
        rows, everyone = self._rows(ids, self._kept(ids, psis, outputs)), np.arange(len(ids))
        return self.true_rows.minus(rows, ids, everyone, np.zeros(self.dim)).trimmed()

    def hold(self, ids: IntArray, answers: Answers) -> None:
        self._held.update(zip(self._names(ids, answers.keys[ids]), answers.outputs[ids].tolist(), strict=True))

    def _found(self) -> Batch:
        """Return all answers since `begin` as one batch; `_row` holds the last row of each example."""
        if len(self._batches) > 1:
            parts = self._batches
            self._batches = [self._new_batch(self._row[:0])]
            self._batches[0].take(parts)
            self._idle += parts
        batch = self._batches[0]
        if not self._indexed:
            self._row[batch.ids] = np.arange(len(batch.ids))
            self._indexed = True
        return batch

    def _rows_of(self, ids: IntArray, keys: IntArray) -> IntArray | None:
        """Return the rows of these answers, of which an example may have several; None if one is missing."""
        if not self._batches:
            return None
        batch, rows = self._found(), self._row[ids]
        if (rows < len(batch.ids)).all() and (batch.ids[rows] == ids).all() and (batch.keys[rows] == keys).all():
            return rows  # an interrupted decode has rows of some examples only
        row = {pair: r for r, pair in enumerate(zip(batch.ids.tolist(), batch.keys.tolist(), strict=True))}
        pairs = zip(ids.tolist(), keys.tolist(), strict=True)
        rows = np.fromiter((row.get(pair, -1) for pair in pairs), np.int64, len(ids))
        return None if (rows < 0).any() else rows

    def take(self, ids: IntArray) -> CustomExamples:
        """Return some of the examples without calling the structure again."""
        part = object.__new__(CustomExamples)
        vars(part).update(self.__getstate__() | {"_digest": None, "n_examples": len(ids)})
        part.X, part.Y, part.outputs_known = (_some(values, ids) for values in (self.X, self.Y, self.outputs_known))
        part.operations = self.operations * len(ids) / max(self.n_examples, 1)
        part.code_offsets = np.zeros(len(ids) + 1, np.int64)
        part.true_rows = self.true_rows.rows(ids)
        part.plane_entries, part._largest = self.plane_entries[ids], self._largest[ids]
        part._begin_empty()
        return part

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the last answers and without objects of threads of this process."""
        return {name: value for name, value in super().__getstate__().items() if name not in self._transient}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_empty()

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """Return the user's object; None if the plane was loaded from a checkpoint of another session."""
        return self.outputs_of(np.array([example]), np.array([key]), [code])[0]

    def outputs_of(self, examples: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
        outputs = list(map(self._held.get, self._names(examples, keys)))
        for r in np.flatnonzero(keys == TRUTH).tolist():
            outputs[r] = self.outputs_known[examples[r]]
        return outputs

    def _names(self, ids: IntArray, keys: IntArray) -> list[int]:
        """Return a 64-bit number for each pair of example and key."""
        return (keys * self.n_examples + ids).tolist()

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        """Return a fingerprint of X and Y, the truths, and the losses and keys that some argmaxes find.

        The argmaxes at weights of 0 depend on the structure as well. If X or Y hold objects that cannot be read,
        argmaxes at random weights, which are not negative, take their place.
        """
        data = Fingerprint().add(self.X, self.Y)
        probed: list[AnyArray] = [np.frombuffer(data.hexdigest().encode(), np.uint8), *self._probed(np.zeros(self.dim))]
        rng = np.random.default_rng(0)
        for _ in range(0 if data.complete else DIGEST_WEIGHTS):
            with suppress(StructureError):  # the fit may never need such weights
                probed += self._probed(rng.uniform(size=self.dim))
        return self.true_rows.indptr, self.true_rows.indices, self.true_rows.values, *probed

    def _probed(self, w: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the losses and keys that the argmaxes of a sample find, without a trace in the examples."""
        sample = np.linspace(0, self.n_examples - 1, min(self.n_examples, DIGEST_SAMPLE)).astype(np.int64)
        with self._without_trace() as answers:
            self.decode(w, sample, np.ones(len(sample)), answers)
        return answers.losses[sample], answers.keys[sample]

    def decode_plain(self, w: FloatArray, ids: IntArray, trial: list[FloatArray], answers: Answers) -> None:
        """Write the plain argmaxes at other weights, ``trial[0]``, with losses and rises at w, without a trace."""
        at = read_only(trial[0])
        with self._without_trace():
            self._answer(w, ids, "argmax", [None] * len(ids), answers, lambda _, x, y, __: self.structure.argmax(at, x))

    @contextmanager
    def _without_trace(self) -> Iterator[Answers]:
        """Yield answers to write to; the last answers, and what is known of planes, stay as they are."""
        kept, largest = (self._batches, self._indexed, self._unchecked), self._largest.copy()
        self._batches = []
        try:
            yield self.empty_answers()
        finally:
            (self._batches, self._indexed, self._unchecked), self._largest = kept, largest

    @property
    def outputs_held(self) -> int:
        return len(self._held)

    def forget(self, examples: IntArray, keys: IntArray) -> None:
        held, live = self._held, self._names(examples, keys)
        self._held = {name: held[name] for name in live if name in held}


def _upper(value: Any) -> float:
    """Return an upper bound as a float; infinity proves nothing."""
    if not isinstance(value, numbers.Real) or value != value:
        raise ValueError(f"upper must be a number, found {value!r}")
    return float(value)


def _some(values: Any, ids: IntArray) -> Any:
    """Return some of the examples of a list or an array."""
    return values[ids] if hasattr(values, "shape") else [values[i] for i in ids.tolist()]

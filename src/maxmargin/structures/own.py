"""A user's structure, four Python methods, as encoded examples."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from maxmargin._compile import kernel
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.planes import HASH_PRIME, HASH_START, TRUTH, Answers, Planes
from maxmargin.structures.base import Examples, Structure, StructureError

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: What a Python argmax is taken to cost, in nonzeros of planes: about 5 % of a fast one (70 µs), so that the solver's
#: own passes stay a small part of the time. A count and not a clock, so that runs repeat.
OPERATIONS_PER_ARGMAX = 3000.0


def sparse_vector(psi: Any) -> tuple[AnyArray, AnyArray, int | None]:
    """(indices, values, length or None) of a joint feature vector in any of the forms a structure may give."""
    if isinstance(psi, np.ndarray) and psi.ndim == 1:
        indices = np.flatnonzero(psi)
        return indices, psi[indices], len(psi)
    if isinstance(psi, tuple) and len(psi) == 2:
        return np.asarray(psi[0]), np.asarray(psi[1]), None
    if isinstance(psi, dict):
        return np.fromiter(psi.keys(), np.int64, len(psi)), np.fromiter(psi.values(), float, len(psi)), None
    if sp.issparse(psi):
        if psi.ndim == 2 and psi.shape[0] != 1:
            raise TypeError(f"joint_feature must be one row, found a sparse matrix of shape {psi.shape}")
        if psi.format == "csr":
            return psi.indices, psi.data, psi.shape[-1]
        psi = psi.tocoo()
        return psi.coords[-1], psi.data, psi.shape[-1]
    dense = np.asarray(psi, float)
    if dense.ndim != 1:
        raise TypeError(f"joint_feature must be a vector, found an array of shape {dense.shape}")
    return sparse_vector(dense)


class OwnExamples(Examples):
    """Calls the user's methods example by example and lays their answers out as planes.

    A plane is recognised by a hash of its entries and its loss. The outputs behind planes that a solver holds are
    kept as the user's objects.
    """

    def __init__(self, structure: Structure, X: Sequence[Any], Y: Sequence[Any]) -> None:
        self.structure, self.X, self.Y = structure, X, Y
        self.n_examples = len(X)
        self.exact = bool(structure.exact)
        self.code_offsets = np.zeros(self.n_examples + 1, np.int64)
        self.operations = OPERATIONS_PER_ARGMAX * self.n_examples
        self.size: int | None = structure.size
        self.truths = self._encode_truths()
        self.dim = int(self.size)  # type: ignore[arg-type]
        self.plane_entries = 2 * np.diff(self.truths.indptr) + 1
        self._recent: list[dict[int, tuple[Planes, int, Any]]] = [{} for _ in range(self.n_examples)]
        self._held: dict[tuple[int, int], Any] = {}
        self._scratch = threading.local()

    def _encode_truths(self) -> Planes:
        def truth(i: int, x: Any, y: Any) -> Any:
            return self.structure.joint_feature(x, y)

        rows = [self._row(i, psi) for i, psi in self._each("joint_feature", np.arange(self.n_examples), truth)]
        if self.size is None:
            raise StructureError(
                "joint_feature gives (indices, values) or a dict, so the structure must say how many weights there "
                "are: set its attribute `size`"
            )
        truths = _stack(rows)
        self._check_finite(np.arange(self.n_examples), truths)
        return truths

    def _each(self, name: str, ids: IntArray, call: Callable[[int, Any, Any], Any]) -> Iterable[tuple[int, Any]]:
        """call(i, x, y) for each of ids; what it raises is raised again with the example's name."""
        X, Y, i = self.X, self.Y, -1
        try:
            for i in ids.tolist():
                yield i, call(i, X[i], Y[i])
        except StructureError:
            raise
        except Exception as error:
            raise StructureError(f"X[{i}]: {name} raised {type(error).__name__}: {error}") from error

    def _row(self, i: int, psi: Any) -> tuple[AnyArray, AnyArray]:
        try:
            indices, values, length = sparse_vector(psi)
        except (TypeError, ValueError) as error:
            raise StructureError(f"X[{i}]: joint_feature returned {type(psi).__name__}: {error}") from None
        if length is not None and length != self.size:
            if self.size is not None:
                raise StructureError(f"X[{i}]: joint_feature has {length} entries, expected {self.size}")
            self.size = length
        if len(indices) != len(values):
            raise StructureError(f"X[{i}]: joint_feature has {len(indices)} indices but {len(values)} values")
        return indices, values

    def begin(self, ids: IntArray) -> None:
        for i in ids.tolist():
            self._recent[i] = {}

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        ask, w = self.structure.loss_augmented_argmax, _read_only(w)
        scale = dict(zip(ids.tolist(), scales.tolist(), strict=True))
        self._answer(w, ids, "loss_augmented_argmax", lambda i, x, y: ask(w, x, y, scale[i]), answers)

    def exact_for(self, bound: Bound) -> bool:
        return hasattr(self.structure, "bound_argmax")

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        ask, w = self.structure.bound_argmax, _read_only(w)  # type: ignore[attr-defined]
        self._answer(w, ids, "bound_argmax", lambda i, x, y: ask(w, x, y, bound), answers)

    def _answer(
        self, w: FloatArray, ids: IntArray, name: str, ask: Callable[[int, Any, Any], Any], answers: Answers
    ) -> None:
        joint_feature, loss = self.structure.joint_feature, self.structure.loss
        outputs, rows, losses = [], [], np.empty(len(ids))

        def call(i: int, x: Any, y: Any) -> tuple[Any, Any, float]:
            output = ask(i, x, y)
            return output, joint_feature(x, output), loss(y, output)

        for i, (output, psi, value) in self._each(name, ids, call):
            try:
                losses[len(rows)] = value
            except (TypeError, ValueError):
                raise StructureError(f"X[{i}]: loss returned {value!r}, expected a number") from None
            outputs.append(output)
            rows.append(self._row(i, psi))
        planes, rises, keys = self._differences(ids, _stack(rows), losses, w)
        answers.losses[ids], answers.rises[ids], answers.keys[ids] = losses, rises, keys
        for r, (i, key) in enumerate(zip(ids.tolist(), keys.tolist(), strict=True)):
            self._recent[i][key] = (planes, r, outputs[r])

    def _differences(
        self, ids: IntArray, found: Planes, losses: FloatArray, w: FloatArray
    ) -> tuple[Planes, FloatArray, IntArray]:
        """Planes, rises and keys of the joint features found."""
        truths, n = self.truths, len(ids)
        low, high = (found.indices.min(), found.indices.max()) if len(found.indices) else (0, 0)
        if low < 0 or high >= self.dim:
            bad = low if low < 0 else high
            r = int(np.searchsorted(found.indptr, np.flatnonzero(found.indices == bad)[0], "right")) - 1
            raise StructureError(f"X[{ids[r]}]: joint_feature has index {bad}, expected 0 to {self.dim - 1}")
        self._check_finite(ids, found)
        room = int((truths.indptr[ids + 1] - truths.indptr[ids]).sum() + len(found.indices))
        planes = Planes(np.zeros(n + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        rises, keys = np.empty(n), np.empty(n, np.int64)
        scratch = getattr(self._scratch, "array", None)
        if scratch is None:
            scratch = self._scratch.array = np.zeros(self.dim)
        subtract_rows(
            ids, truths.indptr, truths.indices, truths.values, found.indptr, found.indices, found.values,
            (losses + 0.0).view(np.int64), w, scratch, planes.indptr, planes.indices, planes.values,
            planes.values.view(np.int64), rises, keys,
        )  # fmt: skip
        return planes, rises, keys

    def _check_finite(self, ids: IntArray, found: Planes) -> None:
        finite = np.isfinite(found.values)
        if not finite.all():
            q = int(np.flatnonzero(~finite)[0])
            r = int(np.searchsorted(found.indptr, q, "right")) - 1
            raise StructureError(f"X[{ids[r]}]: joint_feature has the value {found.values[q]}, expected finite numbers")

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        rows = []
        for i, key in zip(ids.tolist(), answers.keys[ids].tolist(), strict=True):
            batch, r, output = self._recent[i][key]
            span = slice(batch.indptr[r], batch.indptr[r + 1])
            rows.append((batch.indices[span], batch.values[span]))
            self._held[i, key] = output
        stacked = _stack(rows)
        stacked.indices = stacked.indices.astype(np.uint32, copy=False)
        return stacked

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """The user's own object; None for a plane that came from a checkpoint of another session."""
        return self.Y[example] if key == TRUTH else self._held.get((example, key))

    def forget(self, live: Iterable[tuple[int, int]]) -> None:
        self._held = {pair: self._held[pair] for pair in live if pair in self._held}


def _read_only(w: FloatArray) -> FloatArray:
    view = w.view()
    view.flags.writeable = False
    return view


def _stack(rows: list[tuple[AnyArray, AnyArray]]) -> Planes:
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(indices) for indices, _ in rows], out=indptr[1:])
    if indptr[-1] == 0:
        return Planes(indptr, np.zeros(0, np.int64), np.zeros(0))
    values = np.concatenate([values for _, values in rows])
    return Planes(indptr, np.concatenate([indices for indices, _ in rows]), values.astype(float, copy=False))


@kernel
def subtract_rows(
    ids, true_ptr, true_index, true_value, ptr, index, value, loss_bits, w, scratch,
    out_ptr, out_index, out_value, out_bits, rises, keys,
):  # fmt: skip
    """Row r: entries of truth ids[r] minus those of row r, cancelled ones left out; −a·w and the hash of the entries."""
    p = 0
    for r in range(len(ids)):
        i, first = ids[r], p
        for q in range(true_ptr[i], true_ptr[i + 1]):
            scratch[true_index[q]] += true_value[q]
        for q in range(ptr[r], ptr[r + 1]):
            scratch[index[q]] -= value[q]
        for q in range(true_ptr[i], true_ptr[i + 1]):
            j = true_index[q]
            if scratch[j] != 0.0:
                out_index[p], out_value[p], scratch[j] = j, scratch[j], 0.0
                p += 1
        for q in range(ptr[r], ptr[r + 1]):
            j = index[q]
            if scratch[j] != 0.0:
                out_index[p], out_value[p], scratch[j] = j, scratch[j], 0.0
                p += 1
        out_ptr[r + 1] = p
        rise, key = 0.0, HASH_START
        for q in range(first, p):
            rise -= out_value[q] * w[out_index[q]]
            key = (key ^ np.int64(out_index[q])) * HASH_PRIME
            key = (key ^ out_bits[q]) * HASH_PRIME
        rises[r] = rise
        if p == first and loss_bits[r] == 0:
            keys[r] = 0
        else:
            key = (key ^ loss_bits[r]) * HASH_PRIME
            keys[r] = key if key != 0 else 1

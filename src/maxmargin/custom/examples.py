"""A user's structure, four Python methods, as encoded examples."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._checked import finite_number, whole_number
from maxmargin._compile import kernel
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import HASH_PRIME, HASH_START, TRUTH, Answers, mix_step
from maxmargin.core.errors import Place
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Planes, float32_exact, gathered, sparse_dot, subtract_row
from maxmargin.core.structure import Bounded, Structure, StructureError
from maxmargin.custom.joint_features import LARGEST, may_share_memory, sparse_vector, stack, stack_dicts, value_fault
from maxmargin.custom.sameness import equal, flat_copy, is_flat, own_copy, same
from maxmargin.encoding.rows import MAGNITUDE

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: Answers that are made planes of together: few enough to be in the cache still, enough to be worth the calls.
TOGETHER = 128

#: The largest value that planes are made of, as bits: they are in the order of the floats, with infinity and NaN last.
LARGEST_BITS = np.float64(LARGEST).view(np.int64)

#: Examples whose argmaxes a fingerprint of the data looks at.
DIGEST_SAMPLE = 32


class _Batch:
    """What one call of `decode` found: a row for each of ids. Its arrays are used again and again."""

    def __init__(self) -> None:
        self.indices: AnyArray = np.empty(0, np.uint32)
        self.values = np.empty(0)

    def begin(self, ids: IntArray) -> None:
        """No rows yet, and room for one for each of ids."""
        self.ids, self.keys, self.rises = ids, np.empty(len(ids), np.int64), np.empty(len(ids))
        self.uppers = dict[int, float]()
        self.indptr, self.outputs = np.zeros(len(ids) + 1, np.int64), list[Any]()

    def reserve(self, used: int, entries: int) -> None:
        """Room for that many entries behind those used."""
        if used + entries > len(self.values):
            indices, values, size = self.indices[:used], self.values[:used], used + max(used // 2, entries)
            self.indices, self.values = np.empty(size, np.uint32), np.empty(size)
            self.indices[:used], self.values[:used] = indices, values

    def take(self, parts: list[_Batch]) -> None:
        """All rows of other batches, one behind the other."""
        self.begin(np.concatenate([part.ids for part in parts]))
        np.concatenate([part.keys for part in parts], out=self.keys)
        np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]), out=self.indptr[1:])
        self.reserve(0, int(self.indptr[-1]))
        end = 0
        for part in parts:
            begin, end = end, end + int(part.indptr[-1])
            self.indices[begin:end] = part.indices[: end - begin]
            self.values[begin:end] = part.values[: end - begin]
            self.outputs += part.outputs


class OwnExamples(Examples):
    """Calls the user's methods example by example and lays their answers out as planes.

    A plane is recognised by a hash of its entries and its loss. The outputs behind planes that a solver holds are
    kept as the user's objects.
    """

    smallest_chunk, coded = 1, False
    #: Attributes of the present decode and process.
    _passing: ClassVar[frozenset[str]] = frozenset({"_batches", "_idle", "_row", "_indexed", "_held", "_scratch"})

    def __init__(self, structure: Structure, X: Sequence[Any], Y: Sequence[Any], latent: bool = False) -> None:
        self.structure, self.X, self.Y, self.latent = structure, X, Y, latent
        self.n_examples = len(Y)
        self.exact = bool(getattr(structure, "exact", True))
        self.bounded = not self.exact
        self.code_offsets = np.zeros(self.n_examples + 1, np.int64)
        self.operations = self.n_examples * finite_number(
            getattr(structure, "argmax_operations", Structure.argmax_operations), "argmax_operations", 1.0
        )
        self.size = told_size(structure)
        self._copies, self._unchecked = False, self.n_examples  # see `_kept`, which looks at the truths and one sweep
        self._flat = True  # whether outputs of that sweep are lists of numbers or text
        self.outputs_known = self._completed_without_weights() if latent else Y
        self.truths = self._encode_truths()
        self.dim = int(self.size)  # type: ignore[arg-type]
        self.float32_exact = float32_exact(self.truths.values)  # of what is found, working sets see for themselves
        self._truth_lengths = np.diff(self.truths.indptr)
        self.plane_entries = 2 * self._truth_lengths + 1
        self._begin_empty()

    def _begin_empty(self) -> None:
        """Nothing is found or held yet."""
        self._batches: list[_Batch] = []  # of the present decode
        self._idle: list[_Batch] = []
        self._row, self._indexed = np.zeros(self.n_examples, np.int64), False
        self._held: dict[int, Any] = {}  # by name: ints, unlike pairs, are nothing to the garbage collector
        self._scratch = threading.local()

    def _encode_truths(self) -> Planes:
        ids, psis = np.arange(self.n_examples), []
        try:
            for i in range(self.n_examples):
                psis.append(self.structure.joint_feature(self.X[i], self.outputs_known[i]))
        except Exception as error:
            raise _named(error, len(psis), "joint_feature") from error
        truths = self._rows(ids, self._kept(ids, psis, self.outputs_known))
        if self.size is None:
            raise StructureError(
                "joint_feature gives (indices, values) or a dict, so the structure must say how many weights there "
                "are: set its attribute `size`"
            )
        self._check_rows(ids, truths)
        return truths

    # ------------------------------------------------------------------ latent variables

    def _completed_without_weights(self) -> list[Any]:
        """(y, h) of every example, with the h that is best for weights of 0."""
        if self.size is None:
            raise StructureError("a structure with latent variables must say how many weights there are: set `size`")
        w, outputs = _read_only(np.zeros(self.size)), []
        try:
            for x, y in zip(self.X, self.Y, strict=True):
                outputs.append(own_copy(self._completed(w, x, y)))
        except Exception as error:
            raise _named(error, len(outputs), "complete") from error
        return outputs

    def _completed(self, w: FloatArray, x: Any, y: Any, _: Any = None) -> tuple[Any, Any]:
        before = deepcopy(y)
        output = completed(y, self.structure.complete(w, x, y))  # type: ignore[attr-defined]
        if not same(before, y):
            raise ValueError("it changed y itself, which must stay as it is")
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

    def _new_batch(self, ids: IntArray) -> _Batch:
        try:
            batch = self._idle.pop()  # threads may be at it too
        except IndexError:
            batch = _Batch()
        batch.begin(ids)
        return batch

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._answer(w, ids, "loss_augmented_argmax", scales.tolist(), answers)

    def exact_for(self, bound: Bound) -> bool:
        return hasattr(self.structure, "bound_argmax")

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._answer(w, ids, "bound_argmax", [bound] * len(ids), answers)

    def _answer(
        self, w: FloatArray, ids: IntArray, name: str, last: list[Any], answers: Answers, ask: Any = None
    ) -> None:
        """Ask the structure for each of ids, with the r-th of `last` as the last argument."""
        w, batch = _read_only(w), self._new_batch(ids)
        ask = getattr(self.structure, name) if ask is None else ask
        losses = np.empty(len(ids))
        for k in range(0, len(ids), TOGETHER):
            some = slice(k, k + TOGETHER)
            psis, losses[some] = self._asked(w, ids[some], name, last[some], ask, batch)
            self._add_rows(batch, k, self._rows(ids[some], psis), losses[some], w)
        answers.losses[ids], answers.rises[ids], answers.keys[ids] = losses, batch.rises, batch.keys
        if len(answers.outputs):
            answers.outputs[ids] = np.fromiter(batch.outputs, object, len(ids))
        if self.bounded:
            answers.upper[ids] = np.inf
            known = np.array(list(batch.uppers), np.int64)
            answers.upper[known] = np.array(list(batch.uppers.values())) - self.truths.dot_of(known, w)
        self._batches.append(batch)

    def _asked(
        self, w: FloatArray, ids: IntArray, name: str, last: list[Any], ask: Any, batch: _Batch
    ) -> tuple[list[Any], FloatArray]:
        """Joint features and losses of what the structure says, which goes to the outputs of the batch."""
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
                    output, batch.uppers[i] = output.output, finite_number(output.upper, "upper", -np.inf)
                outputs.append(copy_output(output))  # at once: the next call may fill the same object anew
                psis.append(joint_feature(x, output))
                losses.append(loss(y, output))
        except Exception as error:
            r = len(losses)
            culprit = name if len(outputs) == before + r else "joint_feature" if len(psis) == r else "loss"
            if culprit != name and outputs[-1] is None:
                raise StructureError.at(Place("X", ids[r]), f"{name} returned None, expected an output") from error
            raise _named(error, int(ids[r]), culprit) from error
        if self._unchecked > 0:
            self._flat = self._flat and all(map(is_flat, outputs[before:]))
            psis, self._unchecked = self._kept(ids, psis, outputs[before:]), self._unchecked - len(ids)
        return psis, _numbers(losses, ids)

    def _kept(self, ids: IntArray, psis: list[Any], outputs: Sequence[Any]) -> list[Any]:
        """The joint features of these outputs. Where a structure gives the same work array again and again, they are
        asked for anew, and copied at once from then on."""
        if self._copies or not may_share_memory(psis):
            return psis
        self._copies = True
        return [self._copied_joint_feature(self.X[i], output) for i, output in zip(ids.tolist(), outputs, strict=True)]

    def _copied_joint_feature(self, x: Any, output: Any) -> Any:
        return own_copy(self.structure.joint_feature(x, output))

    def _rows(self, ids: IntArray, psis: list[Any]) -> Planes:
        """Joint features of any form as CSR rows."""
        kinds = set(map(type, psis))
        if kinds == {dict}:
            with suppress(TypeError, ValueError, OverflowError):  # the culprit is named below
                return stack_dicts(psis)
        if kinds == {tuple} and set(map(len, psis)) == {2}:
            with suppress(TypeError):  # what has no length is named below
                rows, numbers = zip(*psis, strict=True)
                lengths = list(map(len, rows))
                if lengths == list(map(len, numbers)):
                    return stack(ids, rows, numbers, lengths)
        pairs: list[tuple[Any, Any]] = []
        for r, psi in enumerate(psis):
            if type(psi) is tuple and len(psi) == 2:
                indices, values, length = psi[0], psi[1], None
            else:
                try:
                    indices, values, length = sparse_vector(psi)
                except (TypeError, ValueError, OverflowError) as error:
                    raise StructureError.at(
                        Place("X", ids[r]), f"joint_feature returned {type(psi).__name__}: {error}"
                    ) from None
            if length is not None and length != self.size:
                if self.size is not None:
                    raise StructureError.at(
                        Place("X", ids[r]), f"joint_feature has {length} entries, expected {self.size}"
                    )
                self.size = length
            try:
                n_indices, n_values = len(indices), len(values)
            except TypeError as error:
                raise StructureError.at(Place("X", ids[r]), f"joint_feature returned {psi!r}: {error}") from None
            if n_indices != n_values:
                raise StructureError.at(
                    Place("X", ids[r]), f"joint_feature has {n_indices} indices but {n_values} values"
                )
            pairs.append((indices, values))
        columns = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return stack(ids, *columns, list(map(len, columns[0])))

    def _add_rows(self, batch: _Batch, k: int, found: Planes, losses: FloatArray, w: FloatArray) -> None:
        """Put the planes of the joint features found into the rows of the batch from k on, with rises and keys."""
        scratch = getattr(self._scratch, "array", None)
        if scratch is None:
            scratch = self._scratch.array = np.zeros(self.dim)
        truths, rows = self.truths, slice(k, k + len(found))
        ids = batch.ids[rows]
        batch.reserve(int(batch.indptr[k]), int(self._truth_lengths[ids].sum() + found.indptr[-1]))
        if not difference_planes(
            ids, truths.indptr, truths.indices, truths.values, found.indptr, found.indices, found.values,
            found.values.view(np.int64), losses.view(np.int64), w, scratch, batch.indptr[k:], batch.indices,
            batch.values, batch.values.view(np.int64), batch.rises[rows], batch.keys[rows],
        ):  # fmt: skip
            self._check_rows(ids, found)

    def _check_rows(self, ids: IntArray, found: Planes) -> None:
        """Indices in range and values not too large, else a sentence with the first example where they are not."""
        bad = ~(np.abs(found.values) <= LARGEST) | (found.indices < 0) | (found.indices >= self.size)
        if not bad.any():
            return
        q = int(np.flatnonzero(bad)[0])
        r = int(np.searchsorted(found.indptr, q, "right")) - 1
        index = f"has index {found.indices[q]}, expected 0 to {(self.size or 0) - 1}"
        raise StructureError.at(Place("X", ids[r]), f"joint_feature {value_fault(found.values[q : q + 1]) or index}")

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        if len(ids) == 0:
            return Planes(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0))
        rows = self._rows_of(ids, answers.keys[ids])
        if rows is None:
            return self._planes_again(ids, answers)
        found = self._found()
        return gathered(found.indptr[rows], found.indptr[rows + 1], found.indices, found.values)

    def _planes_again(self, ids: IntArray, answers: Answers) -> Planes:
        """Planes of outputs that are older than the last decode, or come from another process."""
        joint_feature = self._copied_joint_feature if self._copies else self.structure.joint_feature
        outputs = [answers.outputs[i] for i in ids.tolist()]
        psis = [joint_feature(self.X[i], output) for i, output in zip(ids.tolist(), outputs, strict=True)]
        rows, everyone = self._rows(ids, self._kept(ids, psis, outputs)), np.arange(len(ids))
        return self.truths.minus(rows, ids, everyone, np.zeros(self.dim)).trimmed()

    def hold(self, ids: IntArray, answers: Answers) -> None:
        self._held.update(zip(self._names(ids, answers.keys[ids]), answers.outputs[ids].tolist(), strict=True))

    def _found(self) -> _Batch:
        """All answers since `begin`, as one batch; `_row` says where the last one of each example is."""
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
        """Where these answers are; an example may have been asked about more than once. None where any is not there."""
        if not self._batches:
            return None
        batch, rows = self._found(), self._row[ids]
        if (batch.keys[rows] == keys).all():
            return rows
        row = {pair: r for r, pair in enumerate(zip(batch.ids.tolist(), batch.keys.tolist(), strict=True))}
        pairs = zip(ids.tolist(), keys.tolist(), strict=True)
        rows = np.fromiter((row.get(pair, -1) for pair in pairs), np.int64, len(ids))
        return None if (rows < 0).any() else rows

    def take(self, ids: IntArray) -> OwnExamples:
        """Return some of the examples; nothing is asked of the structure again."""
        part = object.__new__(OwnExamples)
        vars(part).update(self.__getstate__() | {"_digest": None, "n_examples": len(ids)})
        part.X, part.Y, part.outputs_known = (_some(values, ids) for values in (self.X, self.Y, self.outputs_known))
        part.operations = self.operations * len(ids) / max(self.n_examples, 1)
        part.code_offsets = np.zeros(len(ids) + 1, np.int64)
        part.truths = self.truths.rows(ids)
        part._truth_lengths, part.plane_entries = self._truth_lengths[ids], self.plane_entries[ids]
        part._begin_empty()
        return part

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was found last, and what belongs to threads of this process."""
        return {name: value for name, value in super().__getstate__().items() if name not in self._passing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_empty()

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """The user's own object; None for a plane that came from a checkpoint of another session."""
        return self.outputs_of(np.array([example]), np.array([key]), [code])[0]

    def outputs_of(self, examples: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
        found = list(map(self._held.get, self._names(examples, keys)))
        for r in np.flatnonzero(keys == TRUTH).tolist():
            found[r] = self.outputs_known[examples[r]]
        return found

    def _names(self, ids: IntArray, keys: IntArray) -> list[int]:
        """One number of 64 bits for each example and key."""
        return (keys * self.n_examples + ids).tolist()

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        """The truths, and losses and planes of what a few argmaxes find at weights of 0."""
        sample = np.linspace(0, self.n_examples - 1, min(self.n_examples, DIGEST_SAMPLE)).astype(np.int64)
        answers = self.empty_answers()
        kept = self._batches, self._indexed
        self._batches = []
        self.decode(np.zeros(self.dim), sample, np.ones(len(sample)), answers)
        self._batches, self._indexed = kept
        found = answers.losses[sample], answers.keys[sample]
        return self.truths.indptr, self.truths.indices, self.truths.values, *found

    @property
    def outputs_held(self) -> int:
        return len(self._held)

    def forget(self, examples: IntArray, keys: IntArray) -> None:
        held, live = self._held, self._names(examples, keys)
        self._held = {name: held[name] for name in live if name in held}


def told_size(structure: Any) -> int | None:
    """The number of weights as the attribute `size` of a structure tells it; None where it does not."""
    size = getattr(structure, "size", None)
    return None if size is None else whole_number(size, "the attribute `size`")


def _some(values: Any, ids: IntArray) -> Any:
    """Some of the examples, of a list or an array."""
    return values[ids] if hasattr(values, "shape") else [values[i] for i in ids.tolist()]


def completed(y: Any, found: Any) -> tuple[Any, Any]:
    """The pair (y, h) from what `complete` gave: an h, or the pair."""
    if isinstance(found, tuple) and len(found) == 2:
        if not equal(found[0], y):
            raise ValueError(f"it changed y: expected {y!r:.60}, found {found[0]!r:.60}")
        return found
    return y, found


def _read_only(w: FloatArray) -> FloatArray:
    view = w.view()
    view.flags.writeable = False
    return view


def _named(error: Exception, example: int, method: str) -> StructureError:
    return StructureError.at(Place("X", example), f"{method} raised {type(error).__name__}: {error}")


def _numbers(losses: list[Any], ids: IntArray) -> FloatArray:
    try:
        values = np.array(losses)
        if values.ndim == 1 and values.dtype.kind in "fiub":
            return values.astype(float) + 0.0  # no negative zero: the hash reads bits
    except ValueError:
        pass
    for r, loss in enumerate(losses):
        try:
            fine = np.ndim(loss) == 0 and not isinstance(loss, str) and float(loss) is not None
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise StructureError.at(Place("X", ids[r]), f"loss returned {loss!r}, expected a number")
    return np.array([float(loss) for loss in losses]) + 0.0


@kernel
def difference_planes(
    ids, truth_ptr, truth_index, truth_value, found_ptr, found_index, found_value, found_bits, loss_bits, w, scratch,
    out_ptr, out_index, out_value, out_bits, rises, keys,
):  # fmt: skip
    """Row r: the truth of ids[r] less the r-th row found, cancelled entries left out; its −a·w and its key.

    Entries are written from out_ptr[0] on. The key is a hash of the entries, in any order, and of the loss; 0 for an
    empty row without loss. False where an index is out of range or a value too large, and nothing is of use then.
    `scratch` is zeros, and is left so.
    """
    wrong = 0
    for q in range(len(found_index)):
        index = found_index[q]
        wrong += (found_bits[q] & MAGNITUDE > LARGEST_BITS) | (index < 0) | (index >= len(scratch))
    if wrong > 0:
        return False
    p = out_ptr[0]
    for r in range(len(ids)):
        begin = p
        p = subtract_row(
            truth_index, truth_value, truth_ptr[ids[r]], truth_ptr[ids[r] + 1], found_index, found_value, found_ptr[r],
            found_ptr[r + 1], scratch, out_index, out_value, p,
        )  # fmt: skip
        out_ptr[r + 1] = p
        rises[r] = -sparse_dot(out_index, out_value, begin, p, w)
        key = mix_step(HASH_START, loss_bits[r])
        for q in range(np.uint64(begin), np.uint64(p)):
            key += mix_step(out_bits[q], np.int64(out_index[q]) * HASH_PRIME)
        if p == begin and loss_bits[r] == 0:
            keys[r] = TRUTH
        else:
            keys[r] = key if key != TRUTH else 1
    return True

"""Base class of structures over parts: sizes, names of weights, saving, k best outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.errors import Where
from maxmargin.core.structure import Compiled
from maxmargin.kernel_features.points import PointFeatures
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.topk import best_outputs

if TYPE_CHECKING:
    from maxmargin.kernel_features.kernel import PartKernel


class WeightTable(NamedTuple):
    """The weights of one block.

    Attributes
    ----------
    columns : sequence of str
        The name of each feature.
    outputs : list of str, optional
        The name of each of the K outputs; None if there is one weight per feature.
    """

    columns: Sequence[str]
    outputs: list[str] | None = None

    def names(self) -> list[str]:
        """Return the name of each weight."""
        if self.outputs is None:
            return list(self.columns)
        return [f"{column} → {output}" for column in self.columns for output in self.outputs]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the table: (columns,) or (columns, K)."""
        return (len(self.columns),) if self.outputs is None else (len(self.columns), len(self.outputs))


class PartStructure(Compiled):
    """A compiled structure whose examples are `PartExamples`.

    A subclass lists its encoders in `learns` and implements `_encoded`, `code_of`, `output_of`, `loss` and `enumerate`,
    and `check_parameters` if it has parameters to check.
    """

    #: Encoders that `fit` creates: attribute → class with `get_state`, `set_state` and `column_names`.
    learns: ClassVar[dict[str, type]]
    #: Encoders of `learns` (`SequenceEncoder`) on whose rows kernels may be used; a block with lower bounds of weights
    #: stays linear. The weights of such an encoder are a table of the same name, without the underscore.
    kernel_rows: ClassVar[tuple[str, ...]] = ()

    # ------------------------------------------------------------------ what a structure writes

    @abstractmethod
    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> PartExamples:
        """Return the examples; if `learn` is true, the encoders of `learns` must learn from X."""

    @abstractmethod
    def code_of(self, y: Any, where: Where) -> CodeArray:
        """Return the code of an output; raise `error_at(where, …)` if it is not an output."""

    @abstractmethod
    def output_of(self, code: CodeArray) -> Any:
        """Return the output of a code."""

    def tables(self) -> dict[str, WeightTable]:
        """Return the weights of each block by name; by default one weight per column of each encoder."""
        return {name.rstrip("_"): WeightTable(getattr(self, name).column_names()) for name in self.learns}

    def arranged(self, blocks: list[FloatArray]) -> Any:
        """Return numbers of all parts of an example in the arrangement of its input.

        By default, the array of the only block (rows × K if parts are rows under K outputs), or a dict of arrays by the
        names of `tables`.
        """
        tables = self.tables()
        named = {
            name: block if table.outputs is None else block.reshape(-1, len(table.outputs))
            for (name, table), block in zip(tables.items(), blocks, strict=True)
        }
        return next(iter(named.values())) if len(named) == 1 else named

    # ------------------------------------------------------------------ what follows

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        self.check_parameters()
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> PartExamples:
        for name, kind in self.learns.items():
            setattr(self, name, kind())
        for name in self.kernel_rows if self.kernel_ is not None else ():
            getattr(self, name).kernel = self.kernel_
        examples = self._paired(X, Y, True)
        self.size = examples.dim
        self._check_tables()
        return examples

    def use_kernel(self, kernel: PartKernel) -> None:
        if not self.kernel_rows:
            return super().use_kernel(kernel)
        self.kernel_ = kernel
        return None

    @property
    def n_points(self) -> int:
        return max((getattr(self, name).n_points for name in self.kernel_rows), default=0)

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        tables = self.split_weights(w)
        pairs = [(getattr(self, name).features, tables.get(name.rstrip("_"))) for name in self.kernel_rows]
        return [
            (features, _rows_of(table)[: features.width])
            for features, table in pairs
            if isinstance(features, PointFeatures) and table is not None
        ]

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[PartStructure, FloatArray]:
        if self.kernel_ is None:
            return self, w
        model, parts = copy(self), list[FloatArray]()
        for name, weights in self.split_weights(w).items():
            table = _rows_of(weights)
            if f"{name}_" in self.kernel_rows:
                encoder, table = getattr(self, f"{name}_").expanded(table, positions)
                setattr(model, f"{name}_", encoder)
            parts.append(table.ravel())
        found = np.concatenate(parts)
        model.size = len(found)
        return model, found

    def _check_tables(self) -> None:
        """Raise TypeError if `tables` does not describe the weights, or attributes of examples are set here."""
        described = sum(int(np.prod(table.shape)) for table in self.tables().values())
        name = type(self).__name__
        if described != self.size:
            raise TypeError(
                f"{name}.tables() describes {described} weights, but its blocks have {self.size}; override tables() to "
                f"return a WeightTable for each block (constant features and outputs included)"
            )
        for attribute in ("nested", "deciding", "bounded", "lower", "whole_counts", "latent"):
            if hasattr(self, attribute):
                raise TypeError(f"{name}.{attribute} has no effect; set it on the class of its examples")

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> PartExamples:
        return self._paired(X, Y, False)

    def _paired(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> PartExamples:
        if Y is not None and len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
        return self._encoded(X, Y, learn)

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best outputs with their scores, best first; fewer if there are fewer.

        Each output takes one argmax per part of the previous output (`parts.topk`).
        """
        examples = self.encode([x])
        found = best_outputs(examples, np.asarray(w, float), whole_number(k, "k"))
        return [(examples.output(0, 0, code), score) for code, score in found]

    def _joint_features(self, examples: Any) -> FloatArray:
        dense: FloatArray = examples.joint_features()
        return dense

    def feature_names(self) -> AnyArray:
        return np.array([name for table in self.tables().values() for name in table.names()], object)

    def weight_columns(self) -> dict[str, AnyArray]:
        """Return the feature of each weight, its output if rows have several, its block if there are several."""
        tables = self.tables()
        rows = [
            (name, column, output)
            for name, table in tables.items()
            for column in table.columns
            for output in (table.outputs or [None])  # type: ignore[list-item]
        ]
        block, feature, output = (np.array(part, object) for part in zip(*rows, strict=True)) if rows else ([],) * 3
        columns: dict[str, Any] = {"block": block} if len(tables) > 1 else {}
        columns["feature"] = feature
        return columns | ({"output": output} if any(table.outputs for table in tables.values()) else {})

    def split_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the weights of each block, of shape (columns,) or (columns, K)."""
        tables = self.tables()
        ends = np.cumsum([0, *(int(np.prod(table.shape)) for table in tables.values())])
        pairs = zip(tables.items(), ends[:-1], ends[1:], strict=True)
        return {name: w[a:b].reshape(table.shape) for (name, table), a, b in pairs}

    # ------------------------------------------------------------------ saving

    def _learnt(self) -> dict[str, Any]:
        return {name: getattr(self, name).get_state() for name in self.learns}

    def _set_learnt(self, learnt: Any) -> None:
        self.check_parameters()
        for name, kind in self.learns.items():
            setattr(self, name, kind().set_state(learnt[name]))
        self.size = sum(int(np.prod(table.shape)) for table in self.tables().values())

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        codes = [self.code_of(output, "output") for output in outputs]
        lengths = np.fromiter(map(len, codes), np.int64, len(codes))
        return {"codes": np.concatenate(codes) if codes else np.zeros(0, np.int32), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        codes, lengths = np.asarray(packed["codes"]), np.asarray(packed["lengths"])
        if codes.dtype != np.int32 or (lengths < 0).any() or lengths.sum() != len(codes):
            raise ValueError(f"expected codes of {lengths.sum()} numbers in total, found {len(codes)}")
        ends = [0, *np.cumsum(lengths).tolist()]
        outputs = [self.output_of(codes[a:b]) for a, b in pairwise(ends)]
        for output in outputs:
            self.code_of(output, "output")
        return outputs


def _rows_of(weights: FloatArray) -> FloatArray:
    """Return the weights of a block as a view with one row per feature."""
    return weights[:, None] if weights.ndim == 1 else weights

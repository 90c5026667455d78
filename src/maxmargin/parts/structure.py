"""Base class of structures over parts: their outputs as codes, k best outputs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import Where
from maxmargin._base.ragged import split_rows
from maxmargin._base.types import AnyArray, CodeArray, FloatArray
from maxmargin.core.structure import Compiled
from maxmargin.parts.ranking import best_outputs


class PartStructure(Compiled):
    """A compiled structure whose examples are `PartExamples`.

    A subclass lists its encoders in `learns` and implements `_encoded`, `code_of`, `output_of`, `loss` and `enumerate`,
    and `check_parameters` if it has parameters to check.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals"})

    # ------------------------------------------------------------------ what a structure writes

    @abstractmethod
    def code_of(self, y: Any, where: Where) -> CodeArray:
        """Return the code of an output; raise `error_at(where, …)` if it is not an output."""

    @abstractmethod
    def output_of(self, code: CodeArray) -> Any:
        """Return the output of a code."""

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

    def _check_tables(self, dim: int) -> None:
        """Raise TypeError if `tables` does not describe the weights, or attributes of examples are set here."""
        super()._check_tables(dim)
        for attribute in ("nested", "deciding", "bounded", "lower", "whole_counts", "latent"):
            if hasattr(self, attribute):
                raise TypeError(f"{type(self).__name__}.{attribute} has no effect; set it on the class of its examples")

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best outputs with their scores, best first; fewer if there are fewer.

        Each output takes one argmax per part of the previous output (`parts.ranking`).
        """
        examples = self.encode([x])
        ranked = best_outputs(examples, np.asarray(w, float), whole_number(k, "k"))
        return [(examples.output(0, 0, code), score) for code, score in ranked]

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

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        return packed_codes([self.code_of(output, "output") for output in outputs])

    def unpack_outputs(self, packed: Any) -> list[Any]:
        outputs = [self.output_of(code) for code in unpacked_codes(packed)]
        for output in outputs:
            self.code_of(output, "output")
        return outputs


def packed_codes(codes: list[CodeArray]) -> dict[str, AnyArray]:
    """Return the codes of outputs as arrays."""
    lengths = np.fromiter(map(len, codes), np.int64, len(codes))
    return {"codes": np.concatenate(codes) if codes else np.zeros(0, np.int32), "lengths": lengths}


def unpacked_codes(packed: Any) -> list[CodeArray]:
    """Return the codes that `packed_codes` packed; raise ValueError if the arrays do not belong together."""
    codes = np.asarray(packed["codes"])
    if codes.dtype != np.int32:
        raise ValueError(f"expected codes of int32, found {codes.dtype}")
    return split_rows(codes, packed["lengths"])

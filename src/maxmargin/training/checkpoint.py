"""Checkpoints: the complete state of a run in one file of plain arrays."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin._types import AnyArray
from maxmargin.core.fingerprint import Fingerprint
from maxmargin.core.problem import Problem
from maxmargin.io.atomic import replacing
from maxmargin.solvers.base import Solver, State

FORMAT = 3


def fingerprint(problem: Problem, solver: Solver, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be equal for a run to be resumed; `identity` is what the caller knows besides."""
    objective = problem.objective
    return {
        "examples": problem.n_examples,
        "weights": problem.dim,
        "C": str(objective.C),
        "bound": str(problem.bound),
        "solver": repr(solver),
        "sample_weight": zlib.crc32(objective.weights.tobytes()),
        "lower": 0 if objective.lower is None else zlib.crc32(objective.lower.tobytes()),
        "prior": 0 if problem.centre is None else zlib.crc32(problem.centre.tobytes()),
        "data": problem.examples.digest(),
        **identity,
    }


def save_checkpoint(
    path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State, identity: Mapping[str, Any]
) -> None:
    """Write the state; an existing file stays intact until the new one is complete."""
    arrays = state.arrays()
    header = json.dumps(
        {"format": FORMAT, "fingerprint": fingerprint(problem, solver, identity), "arrays": checksum(arrays)}
    )
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(header.encode(), np.uint8), **arrays)  # type: ignore[arg-type]


def load_checkpoint(
    path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State, identity: Mapping[str, Any]
) -> None:
    """Restore the state of a run on the same data with the same settings.

    Arrays are checked before they are used; a ValueError names the file and what is wrong with it.
    """
    try:
        arrays, header = _read(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # any error that a manipulated file may cause
        raise ValueError(f"{path} is not a maxmargin checkpoint, or is damaged ({error})") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} has checkpoint format {header.get('format')}, expected {FORMAT}")
    found = header["fingerprint"]
    for name, value in fingerprint(problem, solver, identity).items():
        if found.get(name) != value:
            raise ValueError(f"{path} belongs to another run: its {name} is {found.get(name)!r}, expected {value!r}")
    if header.get("arrays") != checksum(arrays):
        raise ValueError(f"{path} is damaged: its arrays are not those that were written")
    try:
        state.check_saved(arrays)
        state.restore(arrays)
        if hasattr(state, "sets"):
            state.sets.check_outputs(problem)
    except Exception as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def checksum(arrays: Mapping[str, AnyArray]) -> str:
    """Return a fingerprint of names and arrays."""
    return Fingerprint().add(dict(sorted(arrays.items()))).hexdigest()


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays and the header of a checkpoint."""
    with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
        arrays: dict[str, AnyArray] = {name: file[name] for name in file.files}
    header = json.loads(bytes(arrays.pop("header")).decode())
    if not isinstance(header, dict) or not isinstance(header.get("fingerprint"), dict):
        raise ValueError("its header is not readable")
    return arrays, header

"""Checkpoints: the complete state of a run in one file of plain arrays."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from typing import Any

import numpy as np

from maxmargin._types import AnyArray
from maxmargin.core.problem import Problem
from maxmargin.io.atomic import replacing
from maxmargin.solvers.base import Solver, State

FORMAT = 2


def fingerprint(problem: Problem, solver: Solver) -> dict[str, Any]:
    """Return what must be equal for a run to be resumed."""
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
    }


def save_checkpoint(path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State) -> None:
    """Write the state; an existing file stays intact until the new one is complete."""
    header = json.dumps({"format": FORMAT, "fingerprint": fingerprint(problem, solver)})
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(header.encode(), np.uint8), **state.arrays())  # type: ignore[arg-type]


def load_checkpoint(path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State) -> None:
    """Restore the state of a run on the same data with the same settings."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays: dict[str, AnyArray] = {name: file[name] for name in file.files}
        header = json.loads(bytes(arrays.pop("header")).decode())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a maxmargin checkpoint, or is damaged ({error})") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} has checkpoint format {header.get('format')}, expected {FORMAT}")
    expected, found = fingerprint(problem, solver), header["fingerprint"]
    for name, value in expected.items():
        if found.get(name, 0) != value:
            raise ValueError(f"{path} belongs to another run: its {name} is {found.get(name)!r}, expected {value!r}")
    state.restore(arrays)

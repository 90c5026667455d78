"""Checkpoints: the complete state of a run, in an archive as model files are."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import Any

from maxmargin._base.archive import CHECKPOINT, CHECKPOINT_3, Archive, BadFileError, write_archive
from maxmargin._base.atomic import replacing
from maxmargin._base.checks import finite_number
from maxmargin._base.declared import Value, check_declared, declared, parameter
from maxmargin._base.fingerprint import Fingerprint
from maxmargin._base.types import AnyArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver, State

#: The format that is written, and those that are read.
FORMAT, READ = 4, (3, 4)
#: Parameter of a solver in earlier checkpoints → what it is called today.
RENAMED = ("joint_share=", "held_share=")
#: Solver with a parameter that earlier checkpoints do not have, and the value that it had.
ADDED = ("ProximalWorkingSets(", "most_bytes=0")


def _check_path(path: Any, name: str) -> None:
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"checkpoint must be the path of a file or a Checkpoint, found {path!r}")


def _check_interval(seconds: Any, name: str) -> None:
    """Raise ValueError unless it is a number ≥ 0, infinity included."""
    if seconds != float("inf"):
        finite_number(seconds, name)


@declared(frozen=True)
class Checkpoint(Value):
    """File to which the state of a fit is written while it runs.

    It is the value of the parameter `checkpoint` of estimators; a path alone means one checkpoint per minute.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.MulticlassSVM(checkpoint=mm.Checkpoint("fit.npz", every=600.0))
    MulticlassSVM(checkpoint=Checkpoint('fit.npz', every=600.0))
    """

    path: str | os.PathLike[str] = parameter("The file.", _check_path, kind="str or path-like", kw_only=False)
    every: float = parameter("Seconds between checkpoints; 0 for one after every step.", _check_interval, default=60.0)

    @classmethod
    def of(cls, checkpoint: Any) -> Checkpoint | None:
        """Return a checkpoint, or that of a path; None if there is none."""
        return checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else cls(checkpoint)

    def check(self) -> None:
        """Raise ValueError for the first parameter that is invalid."""
        check_declared(self, "Checkpoint: ")


def _solver_today(text: str) -> str:
    """Return a solver of an earlier checkpoint as `repr` shows it today."""
    text = text.replace(*RENAMED)
    name, added = ADDED
    lacks = text.startswith(name) and added.split("=")[0] not in text
    return f"{text[:-1]}, {added})" if lacks else text


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
    header = {"format": FORMAT, "fingerprint": fingerprint(problem, solver, identity), "arrays": checksum(arrays)}
    with replacing(path) as file:
        write_archive(file, CHECKPOINT, header, arrays, compressed=False)


def load_checkpoint(
    path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State, identity: Mapping[str, Any]
) -> None:
    """Restore the state of a run on the same data with the same settings.

    Arrays are checked before they are used; a ValueError names the file and what is wrong with it.
    """
    with open(path, "rb") as file:
        try:
            header, arrays = _read(Archive(file, CHECKPOINT, CHECKPOINT_3))
        except BadFileError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from None
    found = header["fingerprint"]
    found["solver"] = _solver_today(str(found.get("solver")))
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


def _read(archive: Archive) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of a checkpoint."""
    header = archive.document()
    if not isinstance(header, dict) or not isinstance(header.get("fingerprint"), dict):
        raise BadFileError("is damaged: its header is not readable")
    if header.get("format") not in READ:
        raise BadFileError(
            f"has checkpoint format {header.get('format')!r}, and this version reads {READ[0]} to {READ[-1]}: fit from "
            f"the beginning, without resume"
        )
    return header, archive.arrays()

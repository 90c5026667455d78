"""Encoded training data; those of files, which this process reads, or the workers of an engine, each its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin._base.input import example_weights
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Compiled, Structure
from maxmargin.engines.shard_worker import survey
from maxmargin.engines.shards import ShardedExamples, Shards, balanced, placing_errors
from maxmargin.engines.tasks import Tasks
from maxmargin.estimators.kernelised import part_kernel
from maxmargin.estimators.probabilities import Probabilistic
from maxmargin.formats.partitions import Parted


@dataclass(frozen=True)
class TrainingData:
    """Checked and encoded examples, created once per fit, or once for all fits of a path.

    Attributes
    ----------
    X, Y : sequence
        Inputs and outputs as `predict` and `score` take them, for callbacks.
    structure : Structure
        The structure, with the sizes that it learnt from the data.
    examples : Examples
        The encoded examples; equal ones may have been merged.
    weights : ndarray of shape (n_examples,)
        c_i of each encoded example.
    positions : ndarray of shape (n_examples,)
        Index of each encoded example in the user's data.
    encoded : ndarray of int
        The same before equal examples were merged.
    """

    X: Any
    Y: Any
    structure: Structure
    examples: Examples
    weights: FloatArray
    positions: IntArray
    encoded: IntArray


class FromFiles:
    """Mixin of estimators whose training data may be in files: what is read, and what workers contribute."""

    @property
    def _maps(self) -> bool:
        """Whether encoded examples may be in files that are mapped into memory."""
        return False

    def _read(self, files: Parted, Y: Any) -> tuple[Any, Any]:
        """Return the inputs and outputs of files."""
        self._check_files(files, Y)
        return files.read()

    def _check_files(self, files: Parted, Y: Any) -> None:
        """Raise ValueError unless the files can be read for this estimator, without other outputs."""
        if Y is not None:
            raise ValueError(f"y must be None if X is {type(files).__name__}, which contain the outputs")
        if files.memory is not None and not self._maps:
            raise ValueError("Files(memory=) is for ColumnTagger with TokenTemplates: leave it out")

    def _why_not_in_shards(self: Any) -> str:
        """Return the parameter that needs all data in one process; empty if there is none."""
        if isinstance(getattr(self, "temperature", None), str):
            return "temperature='auto'"
        if not isinstance(self._known_structure(), Compiled | None):
            return "a user-defined structure"
        return "a kernel" if part_kernel(self) is not None else ""

    def _survey(self: Any, X: Any, Y: Any) -> dict[str, Any]:
        """Return what a part of the data contributes to what is learnt, in a worker."""
        X, Y, _, _ = self._prepare(X, Y, None)
        structure: Any = self._make_structure()
        return {"structure": structure.survey(X, Y)}

    def _choose_in_shards(self, data: TrainingData, groups: Any) -> None:
        """Choose parameters by the data, in the process that fits; by default there is nothing to choose."""
        if groups is not None:
            raise TypeError(f"{type(self).__name__} takes no groups")

    def _learn_from(self: Any, surveys: Sequence[dict[str, Any]], weights: FloatArray) -> tuple[Compiled, FloatArray]:
        """Return the structure that is learnt from the surveys of all parts in order, and the weights c_i."""
        structure: Any = self._make_structure()
        structure.learn_from([survey["structure"] for survey in surveys])
        return structure, weights

    def _encode_part(self, structure: Compiled, X: Any, Y: Any) -> Examples:
        """Return the examples of a part of the data, in a worker."""
        examples: Examples = structure.encode(X, Y)
        return examples


@dataclass(frozen=True)
class FileShards:
    """Recipe of shards that are files or partitions: the first pass surveys them, the second encodes them.

    Attributes
    ----------
    estimator : MaxMarginEstimator
        The estimator, without what belongs to the process that fits.
    parts : list of Parted
        The data of each shard.
    structure : Compiled or None
        What was learnt from the surveys; None in the first pass.
    """

    estimator: Any
    parts: Sequence[Parted]
    structure: Any = None

    def survey(self, shard: int) -> dict[str, Any]:
        """Return the survey of a file, with the number of its examples."""
        files = self.parts[shard]
        with files.naming():
            X, Y = files.read()
            facts: dict[str, Any] = self.estimator._survey(X, Y)
        return {"n": files.n_examples, "form": files.form, **facts}

    def examples(self, shard: int) -> Examples:
        """Return the encoded examples of a file."""
        files = self.parts[shard]
        with files.naming():
            X, Y = files.read()
            examples: Examples = self.estimator._encode_part(self.structure, X, Y)
        return examples


@contextmanager
def data_in_shards(
    estimator: Any, files: Parted, Y: Any, sample_weight: Any, groups: Any, engine: Tasks
) -> Iterator[Any]:
    """Return the training data of files that workers read, which are released at the end."""
    estimator._check_files(files, Y)
    check_for_shards(estimator)
    parts = files.parts(lambda function, some: engine.gather([None] * len(some), lambda k: (function, some[k])))
    sizes = [part.size for part in parts]
    slots = balanced(sizes, engine.n_jobs)
    twin = clone(estimator).set_params(
        engine=None, callbacks=None, checkpoint=None, start="auto", warm_start=False, n_jobs=1, verbose=0
    )
    surveys = _surveyed(Shards(engine, FileShards(twin, parts), slots, sizes))
    files.note_parts(parts, [(facts["n"], facts["form"]) for facts in surveys])
    n = files.n_examples
    weights = example_weights(sample_weight, n)
    if not weights.all():
        raise ValueError(
            f"sample_weight[{int(np.flatnonzero(weights == 0)[0])}] is 0: workers that read files cannot leave "
            f"examples out; use engine='threads', or files without them"
        )
    structure, weights = estimator._learn_from(surveys, weights)
    del surveys
    shards = Shards(engine, FileShards(twin, parts, structure), slots, sizes)
    try:
        examples = ShardedExamples(shards)
        if isinstance(estimator, Probabilistic):
            estimator._check_decisions(structure, examples.example(0))
        everyone = np.arange(n)
        examples, weights, positions = estimator._merged(examples, weights, everyone)
        shards = examples.shards
        data = TrainingData(files, None, structure, examples, weights, positions, everyone)
        estimator._choose_in_shards(data, groups)
        yield data
    finally:
        shards.close()


def _surveyed(shards: Shards) -> list[dict[str, Any]]:
    """Return the surveys of all shards in order: the first pass."""
    surveys: list[dict[str, Any]] = []
    try:
        with placing_errors(lambda error: sum(facts["n"] for facts in surveys) + error.example):
            for facts in shards.each(survey):
                surveys.append(facts)
    finally:
        shards.close()
    return surveys


def check_for_shards(estimator: Any) -> None:
    """Raise TypeError if an estimator, with its parameters, needs all data in one process."""
    why = estimator._why_not_in_shards()
    if why:
        raise TypeError(
            f"{type(estimator).__name__} with {why} needs the data of all files in one process; use engine='threads'"
        )

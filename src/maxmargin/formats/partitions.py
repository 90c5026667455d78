"""Data in parts: what `Files` and partitions of Dask or Ray have in common, and `Partitions`."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import ExampleError
from maxmargin._base.extras import needed
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray
from maxmargin.formats.pieces import Run


class Parted(ABC):
    """Training data in parts, in the place of X; the workers of an engine read a part each (`engines.shards`)."""

    #: Folder for arrays that are mapped into memory, or None.
    memory: Any = None
    #: What all parts must have in common, as the first part that has been read has it; None if nothing.
    form: Any = None

    def __init__(self) -> None:
        self._first = offsets_of([0])

    @abstractmethod
    def read(self) -> tuple[Any, Any]:
        """Return the inputs and outputs of all parts; the outputs are None if the inputs contain them."""

    @abstractmethod
    def parts(self, run: Run = map) -> Sequence[Parted]:
        """Return each part by itself; picklable. `run` is like `map`, and may call functions in other processes."""

    @property
    @abstractmethod
    def size(self) -> int:
        """A number in proportion to which reading takes time, to be compared with those of other parts."""

    @abstractmethod
    def place(self, example: int) -> str:
        """Return where an example that has been read is, for messages."""

    @abstractmethod
    def check_form(self, form: Any) -> None:
        """Raise ValueError if a part has another form than the first one."""

    @property
    def n_examples(self) -> int:
        """Number of examples that have been read."""
        return int(self._first[-1])

    def note_parts(self, parts: Sequence[Any], surveyed: Sequence[tuple[int, Any]]) -> None:
        """Note the number of examples of each part, and check its form, as others have read them."""
        self._first = offsets_of([n for n, _ in surveyed])
        self.form = None
        for _, form in surveyed:
            self.check_form(form)

    def part_of(self, example: int) -> int:
        """Return the number of the part that has an example."""
        return int(np.searchsorted(self._first, example, "right")) - 1

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Add the place to errors about examples."""
        try:
            yield
        except ExampleError as error:
            if error.example is not None and error.example < self._first[-1] and not error.origin:
                error.origin = f"{self.place(error.example)}: "
                error.move_to(error.example)
            raise


class Partitions(Parted):
    """Partitions of Dask or Ray, or of functions, in the place of X: ``fit(mm.Partitions(bag))``.

    The examples are those of all partitions in order. Estimators with an engine let workers read the partitions; others
    read them all in this process.

    Parameters
    ----------
    data : dask Bag, dask DataFrame, ray Dataset or list of callables
        A bag of pairs (x, y); a table with a row for each example; or functions without arguments that return the X
        and y of a partition. Bags and tables of Dask are computed by the workers of an engine, so they must not be
        persisted. A dataset of Ray is materialised; the workers of ``engine="ray"`` read its blocks, others cannot.
    target : str, default=None
        Column of the labels of a table. The other columns are features, numbers.

    Examples
    --------
    >>> import maxmargin as mm
    >>> def first():
    ...     return [["Ana", "sings"]], [["PER", "O"]]
    >>> def second():
    ...     return [["Tom", "met", "Ana"]], [["PER", "O", "PER"]]
    >>> tagger = mm.ColumnTagger(C=1.0).fit(mm.Partitions([first, second]))
    >>> tagger.predict([["Tom", "sings"]])
    [['PER', 'O']]
    """

    def __init__(self, data: Any, target: str | None = None) -> None:
        super().__init__()
        # The objects that tasks refer to; the blocks of a dataset of Ray are computed now.
        self._kept = data.materialize() if _package(data) == "ray" and hasattr(data, "materialize") else data
        self._readers, self._at = _readers(self._kept, target), 0

    def __repr__(self) -> str:
        return f"Partitions: {len(self._readers)} of them"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": None}

    def read(self) -> tuple[Any, Any]:
        """Return the inputs and outputs of all partitions."""
        parts = [_checked_part(reader(), k) for k, reader in enumerate(self._readers, self._at)]
        self.note_parts(self._readers, [(len(Y), form) for _, Y, form in parts])
        if self.form is None:
            return [x for X, _, _ in parts for x in X], [y for _, Y, _ in parts for y in Y]
        return sp.csr_array(sp.vstack([X for X, _, _ in parts], format="csr")), np.concatenate([Y for _, Y, _ in parts])

    def parts(self, run: Run = map) -> list[Partitions]:
        """Return each partition by itself."""
        return [self._part(reader, k) for k, reader in enumerate(self._readers)]

    @classmethod
    def _part(cls, reader: Callable[[], Any], number: int) -> Partitions:
        part = object.__new__(cls)
        Parted.__init__(part)
        part._readers, part._at, part._kept = [reader], number, None
        return part

    @property
    def size(self) -> int:
        """The number of partitions, whose sizes are not known."""
        return len(self._readers)

    def place(self, example: int) -> str:
        """Return the partition of an example that has been read."""
        return f"partition {self._at + self.part_of(example)}"

    def check_form(self, form: Any) -> None:
        """Raise ValueError if a partition has other columns than the first one."""
        if self.form is None:
            self.form = form
        elif form != self.form:
            raise ValueError(f"partitions with the columns {shown(self.form)} and {shown(form)}: expected the same")


def shown(columns: Any) -> str:
    """Return names of columns for messages."""
    return "none" if columns is None else ", ".join(map(str, columns))


def _readers(data: Any, target: str | None) -> list[Callable[[], tuple[Any, Any, Any]]]:
    """Return a picklable function for each partition, which returns X, Y and the names of columns or None."""
    kind = _package(data)
    if isinstance(data, list | tuple) and data and all(map(callable, data)):
        return [partial(_called, reader) for reader in data]
    if kind in ("dask", "dask_expr") and hasattr(data, "to_delayed"):
        table = hasattr(data, "columns")
        _check_target(table, target)
        return [partial(_of_delayed, part, target) for part in data.to_delayed()]
    if kind == "ray" and hasattr(data, "iter_internal_ref_bundles"):
        _check_target(True, target)
        bundles = [(bundle.block_refs, bundle.metadata) for bundle in data.iter_internal_ref_bundles()]
        blocks = [
            (ref, about.num_rows) for refs, metadata in bundles for ref, about in zip(refs, metadata, strict=True)
        ]
        dumps = needed("ray.cloudpickle", "ray", "Ray datasets need").dumps  # with the owner of the block
        return [partial(_of_block, dumps(ref), target) for ref, n in blocks if n != 0]
    raise ValueError(
        f"data must be a Dask bag or data frame, a Ray dataset or a list of functions, found {type(data).__name__}"
    )


def _package(data: Any) -> str:
    return type(data).__module__.split(".")[0]


def _check_target(table: bool, target: str | None) -> None:
    if table and target is None:
        raise ValueError("a table needs target=, the column of the labels")
    if not table and target is not None:
        raise ValueError("target= is for tables; a bag has pairs (x, y)")


def _called(reader: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any, Any]:
    X, Y = reader()
    return X, Y, None


def _of_delayed(part: Any, target: str | None) -> tuple[Any, Any, Any]:
    """Compute a partition of Dask here, without the scheduler."""
    content = part.compute(scheduler="synchronous")
    if target is not None:
        return rows_of_table(content, target)
    pairs = list(content)
    return [x for x, _ in pairs], [y for _, y in pairs], None


def _of_block(pickled: bytes, target: Any) -> tuple[Any, Any, Any]:
    """Return the rows of a block of Ray, whose reference is a pickle: it means nothing to other workers."""
    ray = needed("ray", "ray", "Ray datasets need")
    if not ray.is_initialized():
        raise RuntimeError(
            "the blocks of a Ray dataset can be read by workers of Ray only: use engine='ray', or write files with "
            "dataset.write_parquet(folder), and pass Files(folder + '/*.parquet', format='parquet', target=…)"
        )
    block = ray.get(pickle.loads(pickled))
    return rows_of_table(block.to_pandas() if hasattr(block, "to_pandas") else block, target)


def _checked_part(part: tuple[Any, Any, Any], number: int) -> tuple[Any, Any, Any]:
    if len(part[1]) == 0:
        raise ValueError(f"partition {number} is empty: expected at least one example; repartition the data")
    return part


def rows_of_table(table: Any, target: str, columns: Sequence[str] | None = None) -> tuple[Any, AnyArray, Any]:
    """Return the rows of a data frame as a CSR matrix, their labels, and the names of the columns.

    The rows are sparse: scores of a row do not depend on the rows beside it, as they would with BLAS.
    """
    if target not in table.columns:
        raise ValueError(f"expected a column {target!r}, the labels, found {shown(table.columns)}")
    names = [name for name in table.columns if name != target] if columns is None else list(columns)
    try:
        rows = sp.csr_array(table[names].to_numpy(float))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the columns {shown(names)} must be numbers: {error}") from error
    return rows, table[target].to_numpy(), tuple(names)

"""`FilePredictor`: predictions of files, written as files."""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any
from uuid import uuid4

from sklearn.utils.validation import check_is_fitted

from maxmargin._base.errors import callers_level
from maxmargin.engines.engine import engine_of
from maxmargin.engines.tasks import Tasks, pickled, unpickled
from maxmargin.formats.files import expanded, targets_in
from maxmargin.formats.streams import write_text

#: Number of models that a worker keeps.
MOST_KEPT = 4


class FilePredictor:
    """Mixin of estimators that read and write the files of a format."""

    def _predicted_text(self, source: str) -> Iterator[str]:
        """Yield the text of a file with predictions, a part at a time."""
        raise TypeError(f"{type(self).__name__} does not define _predicted_text")

    def predict_files(self, paths: Any, to: str | os.PathLike[str]) -> list[Path]:
        """Write predictions for files to a folder, one file at a time: memory does not grow with their number.

        With an `engine` of other processes, each file is read, predicted and written by a worker, which must see both
        folders; the model is sent once.

        Taggers write columns with one more, or fill the column of labels of CoNLL-U; dependency parsers write CoNLL-U;
        classifiers of rows (svmlight) write a label per line. A file appears when it is complete, under the name of
        its source without ``.gz``.

        Parameters
        ----------
        paths : str, path-like or sequence of these
            Files, gzip or not, or patterns such as ``"new/*.conll.gz"``.
        to : str or path-like
            The folder, which is made if it does not exist.

        Returns
        -------
        list of pathlib.Path
            The files written, in the order of their sources.
        """
        check_is_fitted(self, "coef_")
        sources = expanded(paths)
        targets = targets_in(to, sources)
        Path(to).mkdir(parents=True, exist_ok=True)
        estimator: Any = self
        with engine_of(getattr(self, "engine", None), estimator.n_jobs) as engine:
            if isinstance(engine, Tasks):
                self._predict_by_workers(engine, sources, targets)
            else:
                for source, target in zip(sources, targets, strict=True):
                    _write(self, source, target)
        return targets

    def _predict_by_workers(self, engine: Tasks, sources: list[str], targets: list[Path]) -> None:
        model: Any = copy(self)
        model.engine = model.callbacks = model.checkpoint = model.support_ = None
        model.n_jobs = 1
        blob, key = pickled(model), uuid4().hex
        shared: dict[int, Any] = {}

        def call(k: int) -> tuple[Any, ...]:
            if engine.losses not in shared:
                shared[engine.losses] = engine.share(blob)
            return predict_file, key, shared[engine.losses], os.path.abspath(sources[k]), targets[k].absolute()

        for caught in engine.gather([None] * len(sources), call):
            for message, category in caught:
                warnings.warn(message, category, stacklevel=callers_level())


#: Models of this worker, by the key that they were sent with.
_models: OrderedDict[str, Any] = OrderedDict()


def predict_file(key: str, read: Any, source: str, target: Path) -> list[tuple[str, type[Warning]]]:
    """Write the predictions of a file in a worker, and return the warnings."""
    if key not in _models:
        _models[key] = unpickled(read)
        while len(_models) > MOST_KEPT:
            _models.popitem(last=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _write(_models[key], source, target)
    return [(str(w.message), w.category) for w in caught if not issubclass(w.category, DeprecationWarning)]


def _write(model: Any, source: str, target: Path) -> None:
    with write_text(target) as file:
        for text in model._predicted_text(source):
            file.write(text)

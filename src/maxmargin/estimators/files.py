"""`FilePredictor`: predictions of files, written as files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from maxmargin.formats.files import expanded, targets_in
from maxmargin.formats.streams import write_text


class FilePredictor:
    """Mixin of estimators that read and write the files of a format."""

    def _predicted_text(self, source: str) -> Iterator[str]:
        """Yield the text of a file with predictions, a part at a time."""
        raise TypeError(f"{type(self).__name__} does not define _predicted_text")

    def predict_files(self, paths: Any, to: str | os.PathLike[str]) -> list[Path]:
        """Write predictions for files to a folder, one file at a time: memory does not grow with their number.

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
        for source, target in zip(sources, targets, strict=True):
            with write_text(target) as file:
                for text in self._predicted_text(source):
                    file.write(text)
        return targets

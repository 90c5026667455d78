"""`save` and `load` of fitted estimators.

A model is one vector of weights and a structure; the attributes of a fitted estimator are computed from them in the
same way as at the end of a fit, so they are the same bit for bit. Certificate, history and similar attributes are
saved besides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin._base.archive import MODEL, Archive, BadFileError, replacing, write_archive
from maxmargin._base.checks import finite_number, positive_number, stored_array
from maxmargin._base.types import AnyArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.planes import Planes
from maxmargin.core.structure import Compiled
from maxmargin.estimators.base import MaxMarginEstimator, names_learnt, remember
from maxmargin.estimators.explain import Support
from maxmargin.estimators.starts import storable_start
from maxmargin.models.earlier import translated
from maxmargin.models.objects import Given, ModelReader, ModelWriter, UserCodeError, is_estimator, is_structure
from maxmargin.models.values import LARGEST_NUMBER, expect

NAME, FORMAT = "maxmargin model", 3

#: Parameters that belong to a run, not to a model.
UNSAVED = ("callbacks", "checkpoint", "engine")

#: Numbers of features and labels that any file may claim.
LEAST_SIZE = 1_000_000

_ENTRIES = ("estimator", "parameters", "structure", "weights", "fitted", "support")

_TYPES: dict[str, type] = {
    "certificate_": Certificate,
    "history_": list,
    "stop_reason_": str,
    "n_iter_": Integral,
    "n_features_in_": Integral,
    "classes_": np.ndarray,
    "feature_names_in_": np.ndarray,
}


#: Attributes that every fit by a solver sets.
_OF_A_FIT = ("certificate_", "history_", "stop_reason_", "n_iter_")


def save(estimator: MaxMarginEstimator, path: str | os.PathLike[str], support: bool = False) -> None:
    """Write a fitted estimator; see `MaxMarginEstimator.save`."""
    if not hasattr(estimator, "coef_"):
        raise NotFittedError(f"this {type(estimator).__name__} is not fitted, so it cannot be saved: call fit")
    estimator._check_parameters()
    writer = ModelWriter()
    try:
        document = _document(estimator, support, writer)
    except RecursionError:
        raise ValueError("the model cannot be saved: its parameters or labels contain themselves") from None
    with replacing(path) as file:
        write_archive(file, MODEL, document, writer.arrays)


def _document(estimator: MaxMarginEstimator, support: bool, writer: ModelWriter) -> dict[str, Any]:
    weights, structure = np.asarray(estimator._flat_weights()), estimator.structure_
    if not np.isfinite(weights).all():
        raise ValueError(f"the model cannot be saved: {_not_finite('weight', weights)}")
    size = getattr(structure, "size", None)
    if size is not None and len(weights) != size:
        raise ValueError(
            f"the model cannot be saved: it has {len(weights)} weights, its structure {size}; "
            f"one of the two was changed after the fit"
        )
    parameters = estimator.get_params(deep=False)
    if "start" in parameters:  # derived estimators may have a constructor of their own
        parameters["start"] = storable_start(estimator)
    derived = estimator._fitted_attributes(weights, structure)
    fitted = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_") and name not in (*derived, *parameters, "support_")
    }
    planes = getattr(estimator, "support_", None) if support else None
    document = {
        "format": NAME,
        "version": FORMAT,
        "maxmargin": maxmargin.__version__,
        "estimator": writer.class_name(type(estimator)),
        "parameters": writer.names({n: None if n in UNSAVED else v for n, v in parameters.items()}, "parameters"),
        "structure": None
        if structure is parameters.get("structure")
        else writer.encode(structure, "structure"),
        "weights": writer.encode(weights, "weights"),
        "fitted": writer.names(fitted, "fitted"),
        "learnt": names_learnt(estimator),
        "support": None if planes is None else writer.names(_support_state(planes, structure), "support"),
    }  # fmt: skip
    needed = {"classes": list(writer.classes.values()), "functions": writer.functions.described()}
    return {**document, "needs": needed}


def load(
    path: str | os.PathLike[str],
    *,
    functions: Mapping[str, Any] | None = None,
    classes: type | Iterable[type] | None = None,
) -> MaxMarginEstimator:
    """Load an estimator from a file that `save` wrote, fitted and ready to predict.

    A file never chooses what is called: it holds JSON and arrays of numbers and strings, and refers to user-defined
    classes and functions by names, which are only compared with those that you pass. No module is searched or imported.

    Parameters
    ----------
    path : str or path-like
        The file.
    functions : dict of str to callable, default=None
        The functions of the model by the names of their parameters, such as ``{"solve": f}`` for a `CostLearner` with
        ``Optimizer(f)``, or ``{"loss": f}`` for ``loss=f``. An error message names those that are missing.
    classes : class, iterable or dict of classes, default=None
        User-defined structures and estimators of the model, found by name. Their constructor or ``from_state`` receives
        values from the file.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is truncated, damaged, not a model, of a newer version, or needs a function or a class that was not
        passed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.make_multiclass(30, random_state=0)
    >>> model = mm.MulticlassSVM().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mm"
    ...     model.save(path)
    ...     bool((mm.load(path).coef_ == model.coef_).all())
    True
    """
    given = Given(functions, classes)
    with open(path, "rb") as file:
        try:
            return _estimator(Archive(file, MODEL), given)
        except BadFileError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from error.__cause__
        except UserCodeError as error:
            raise ValueError(f"{os.fspath(path)} cannot be loaded: {error}") from error.__cause__
        except Exception as error:  # any error that a manipulated file may cause
            reason = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise ValueError(f"{os.fspath(path)} is damaged: {reason}") from error


def _estimator(archive: Archive, given: Given) -> MaxMarginEstimator:
    document = archive.document()
    _check_version(document)
    if document["version"] > 1:
        given.check(document.get("needs"))
    reader = ModelReader(archive.array, given, max(LEAST_SIZE, archive.largest))
    kind = reader.class_of(document["estimator"], is_estimator, "estimator", "estimator")
    known = kind._get_param_names()
    if document["version"] < FORMAT:
        expect(document["parameters"], dict, "parameters")
        document = translated(document, known)
    parameters = reader.names(document["parameters"], "parameters")
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise BadFileError(f"is damaged, or of another version: {kind.__name__} has no parameter {unknown[0]!r}")
    for name in UNSAVED:
        if parameters.get(name) is not None:
            raise BadFileError(f"is damaged: its {name} is {type(parameters[name]).__name__}, expected None")
    estimator = kind(**parameters)
    try:
        estimator._check_parameters()
    except ValueError as error:
        raise BadFileError(f"is damaged, or of another version: {error}") from error
    structure = parameters.get("structure")
    if document["structure"] is not None:
        structure = reader.structure(document["structure"], "structure")
    weights = reader.decode(document["weights"], "weights")
    _check_weights(weights, structure)
    fitted = reader.names(document["fitted"], "fitted")
    _check_fitted(fitted, structure)
    state = document["support"]
    support = None if state is None else _support(reader.names(state, "support"), structure, len(weights))
    for name, value in fitted.items():
        setattr(estimator, name, value)
    estimator._check_loaded(structure)
    for name, value in estimator._fitted_attributes(weights, structure).items():
        setattr(estimator, name, value)
    flat, width = estimator._flat_weights(), getattr(estimator, "n_features_in_", None)
    whole = flat.shape == weights.shape and bool((flat.view(np.int64) == weights.view(np.int64)).all())
    kernel = getattr(structure, "features_", None)  # with a kernel, weights belong to points or products
    by_rows = estimator.coef_.ndim == 2 and kernel is None
    if not whole or (by_rows and estimator.coef_.shape[1] != width):
        raise BadFileError("is damaged: its parameters do not fit its weights")
    estimator.support_ = support
    learnt = expect(document.get("learnt", []), list, "learnt")  # files of earlier versions do not contain it
    remember(estimator, (expect(name, str, "learnt") for name in learnt))
    return estimator


def _check_version(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != NAME:
        raise BadFileError("is not a model file of maxmargin: its model.json was written by another program")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise BadFileError(f"is damaged: its version is {version!r}")
    if version > FORMAT:
        raise BadFileError(
            f"is of a newer version: it has format {version} and was written by maxmargin "
            f"{document.get('maxmargin')}; this is maxmargin {maxmargin.__version__}, which reads up to format {FORMAT}"
        )
    missing = [name for name in _ENTRIES if name not in document]
    if missing:
        raise BadFileError(f"is damaged: its model.json has no {', '.join(missing)}")


def _check_weights(weights: Any, structure: Any) -> None:
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.ndim != 1:
        raise BadFileError("is damaged: its weights are not a vector of float64")
    if not np.isfinite(weights).all():
        raise BadFileError(f"is damaged: {_not_finite('weight', weights)}")
    if not is_structure(type(structure)):
        raise BadFileError("is damaged: it has no structure")
    size = getattr(structure, "size", None)
    if (isinstance(structure, Compiled) or size is not None) and len(weights) != size:
        raise BadFileError(f"is damaged: it has {len(weights)} weights, its structure {size}")
    if isinstance(structure, Compiled):
        structure.check_weights(weights)


def _not_finite(what: str, values: AnyArray) -> str:
    """Return which of the values is the first that is not finite."""
    at = int(np.flatnonzero(~np.isfinite(values))[0])
    return f"{what} {at} is {values[at]}, expected finite numbers"


def _check_fitted(fitted: dict[str, Any], structure: Any) -> None:
    for name, value in fitted.items():
        if not name.isidentifier() or not name.endswith("_") or name.startswith("_"):
            raise BadFileError(f"is damaged: {name!r} is not a fitted attribute")
        if name in _TYPES and not isinstance(value, _TYPES[name]):
            raise BadFileError(f"is damaged: {name} is {type(value).__name__}, expected {_TYPES[name].__name__}")
        if name.endswith("_coef_") and value is not None:
            stored_array(value, name, np.float64, (None,))
        if name == "temperature_":
            positive_number(finite_number(value, name), name)
    certificate = fitted.get("certificate_")
    if certificate is not None:
        relaxation = 0.0 if certificate.relaxation is None else certificate.relaxation
        numbers = replace(certificate, relaxation=relaxation, start=0)
        if type(certificate.start) is not str or not all(map(_is_number, astuple(numbers))):
            raise BadFileError(f"is damaged: its certificate is {certificate!r:.200}")
    missing = [name for name in _OF_A_FIT if name not in fitted]
    if 0 < len(missing) < len(_OF_A_FIT):  # frequencies (`fit_hmm`, `fit_pcfg`) have none of them
        raise BadFileError(f"is damaged: it has no {missing[0]}, but other results of a fit")
    classes, width = fitted.get("classes_"), fitted.get("n_features_in_")
    if classes is not None and classes.shape != (len(structure.labels_),):
        raise BadFileError(f"is damaged: classes_ has shape {classes.shape}, expected ({len(structure.labels_)},)")
    if width is not None and width != (expected := _width(structure, width)):
        raise BadFileError(f"is damaged: n_features_in_ is {width}, its structure has {expected}")
    names = fitted.get("feature_names_in_")
    if names is not None and names.shape != (width,):
        raise BadFileError(f"is damaged: feature_names_in_ has shape {names.shape}, expected ({width},)")


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that is finite or infinite as a float too, and not an integer beyond it."""
    return isinstance(value, Real) and not (isinstance(value, int) and abs(value) > LARGEST_NUMBER)


def _width(structure: Any, unknown: Any) -> Any:
    """Return the number of features of the rows of a structure; `unknown` if its inputs are of another kind."""
    for name in ("documents_", "tokens_"):
        if hasattr(structure, name):
            return getattr(structure, name).width
    return getattr(structure, "n_features_", unknown)


def _support_state(support: Support, structure: Any) -> dict[str, Any]:
    """Return support planes; outputs of compiled structures as codes, those of other structures not at all."""
    return {
        "examples": support.examples,
        "alphas": support.alphas,
        "values": support.values,
        "indptr": support.rows.indptr,
        "indices": support.rows.indices,
        "data": support.rows.values,
        "dim": support.dim,
        "outputs": structure.pack_outputs(support.outputs) if isinstance(structure, Compiled) else None,
    }


def _support(state: dict[str, Any], structure: Any, dim: int) -> Support:
    outputs, dim, arrays = state.pop("outputs"), int(state.pop("dim", dim)), state
    for name, kind in (
        ("examples", "i"), ("alphas", "f"), ("values", "f"), ("indptr", "i"), ("indices", "iu"), ("data", "f"),
    ):  # fmt: skip
        array: AnyArray = expect(arrays.get(name), np.ndarray, f"support.{name}")
        if array.ndim != 1 or array.dtype.kind not in kind:
            raise BadFileError(f"is damaged: support.{name} has shape {array.shape} and type {array.dtype}")
        if kind == "f" and not np.isfinite(array).all():
            raise BadFileError(f"is damaged: support.{name}: {_not_finite('value', array)}")
    n = len(arrays["examples"])
    if not len(arrays["alphas"]) == len(arrays["values"]) == len(arrays["indptr"]) - 1 == n:
        raise BadFileError("is damaged: the arrays of support differ in length")
    rows = arrays["indptr"], arrays["indices"], arrays["data"]
    sp.csr_array(rows[::-1], shape=(n, dim)).check_format(full_check=True)
    labels = structure.unpack_outputs(outputs) if isinstance(structure, Compiled) else [None] * n
    if len(labels) != n:
        raise BadFileError(f"is damaged: support has {n} planes but {len(labels)} outputs")
    return Support(arrays["examples"], labels, arrays["alphas"], arrays["values"], Planes(*rows), dim)

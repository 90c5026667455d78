"""Whether a model came through a file as it was."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import maxmargin as mm

CHAINS = mm.datasets.make_chains(20, random_state=0)
ROWS = mm.datasets.make_multiclass(30, n_features=6, n_classes=3, random_state=0)


def assert_alike(a, b, where="it"):
    """Equal in value, type, order and bits."""
    assert type(a) is type(b), f"{where}: {type(a)} became {type(b)}"
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        if a.dtype == object:
            assert_alike(a.tolist(), b.tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
    elif sp.issparse(a):
        for name in ("data", "indices", "indptr", "shape"):
            assert_alike(getattr(a, name), getattr(b, name), f"{where}.{name}")
    elif isinstance(a, dict):
        assert_alike(list(a.items()), list(b.items()), where)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_alike(x, y, f"{where}[{i}]")
    elif isinstance(a, float):
        assert repr(a) == repr(b), where
    elif isinstance(a, np.random.RandomState):
        assert_alike(a.get_state(), b.get_state(), where)
    elif hasattr(a, "__dict__"):
        assert_alike(vars(a), vars(b), where)
    else:
        assert a == b, where


def through_file(model, tmp_path, support=False, **given):
    path = tmp_path / "model.mm"
    model.save(path, support=support)
    return mm.load(path, **given)


def assert_same_model(model, loaded, X, support=False):
    assert type(loaded) is type(model)
    kept = {name: value for name, value in vars(model).items() if support or name != "support_"}
    found = {name: value for name, value in vars(loaded).items() if support or name != "support_"}
    assert_alike(dict(sorted(kept.items())), dict(sorted(found.items())))
    assert_alike(model.predict(X), loaded.predict(X))
    assert_alike(model.feature_names_out, loaded.feature_names_out)
    if hasattr(model, "decision_function"):
        assert_alike(model.decision_function(X), loaded.decision_function(X))
    if not support:
        assert loaded.support_ is None


# ---------------------------------------------------------------------- estimators and inputs

"""Parameters that are declared once: signatures, checks and documentation follow."""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

from maxmargin._base.checks import (
    changed,
    check_declared,
    choice,
    declared,
    optional,
    parameter,
    positive_number,
    whole_number,
)
from maxmargin.registry import public_estimators


@declared
class Base(BaseEstimator):
    """A base.

    Attributes
    ----------
    coef_ : ndarray
        Weights.
    """

    C: float = parameter("Trade-off.", positive_number, default=1.0)
    k: int | None = parameter("Number.", optional(whole_number), default=None)
    kinds: ClassVar[tuple[str, ...]] = ("a", "b")


@declared
class Derived(Base):
    """A model."""

    data: Any = parameter("Data.", kw_only=False, kind="array-like")
    kind: str = parameter("Kind.", choice(*Base.kinds), default="a", kind='{"a", "b"}')
    C: float = changed(default=0.1)


def test_signatures_are_explicit_and_scikit_learn_reads_them():
    signature = inspect.signature(Derived)
    assert list(signature.parameters) == ["data", "C", "k", "kind"]
    assert signature.parameters["C"].default == 0.1
    assert signature.parameters["C"].kind is inspect.Parameter.KEYWORD_ONLY
    model = clone(Derived([1], k=3)).set_params(kind="b")
    assert model.get_params() == {"data": [1], "C": 0.1, "k": 3, "kind": "b"}
    with pytest.raises(TypeError):
        Derived()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be a number > 0, found 0"),
        ({"k": 0.5}, "k must be an integer ≥ 1, found 0.5"),
        ({"kind": "c"}, "kind must be 'a' or 'b', found 'c'"),
    ],
)
def test_constraints_are_those_of_the_class_that_declares_them(parameters, message):
    check_declared(Derived(None))
    with pytest.raises(ValueError, match=re.escape(message)):
        check_declared(Derived(None, **parameters))


def test_documentation_is_composed_of_the_fields():
    assert inspect.getdoc(Derived) == (
        "A model.\n\nParameters\n----------\n"
        'data : array-like\n    Data.\nkind : {"a", "b"}, default="a"\n    Kind.\n'
        "C : float, default=0.1\n    Trade-off.\nk : int or None, default=None\n    Number."
    )
    assert inspect.getdoc(Base).endswith("Number.\n\nAttributes\n----------\ncoef_ : ndarray\n    Weights.")


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda kind: kind.__name__)
def test_every_parameter_of_every_estimator_is_documented_in_full(estimator):
    section = inspect.getdoc(estimator).split("Parameters\n----------\n")[1].split("\n\n")[0]
    items = dict(re.findall(r"^(\w+) : (.*(?:\n    .*)+)", section, re.MULTILINE))
    assert set(items) == set(inspect.signature(estimator).parameters)
    assert "As in `" not in section

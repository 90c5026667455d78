"""Checks of values passed by users, and parameters that are declared with theirs.

Errors state what was expected and what was found. A parameter is declared once: name, type, default, constraint and
documentation.

    @declared
    class Ridge(BaseEstimator):
        \"\"\"Least squares with a regulariser.\"\"\"

        C: float = parameter("Trade-off.", positive_number, default=1.0)
        features: Any = parameter("Which features are used.", default="all", kind='"all" or list of str')

A declared class is a dataclass with keyword-only fields: signatures are explicit for `inspect`, editors, mypy and
scikit-learn. Subclasses inherit fields, and redeclare one with `changed` if its default differs. The section
"Parameters" of the docstring is composed from the fields, and `check_declared` checks all of them. A small object that
is itself the value of a parameter is declared with ``@declared(frozen=True)``: it cannot be changed, and it is equal to
another one of equal fields.
"""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Callable, Mapping, Set
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from inspect import get_annotations
from typing import Any, TypeVar, dataclass_transform, overload

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.errors import Where, error_at


def is_list(values: Any) -> bool:
    """Return whether a value has ordered members, as a list or an array does; strings, sets and dicts do not."""
    if isinstance(values, str | bytes | bytearray | Set | Mapping):
        return False
    return hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0


def whole_number(value: Any, name: str, lowest: int = 1) -> int:
    """Return the value as an int ≥ lowest; raise ValueError if it is not."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be an integer ≥ {lowest}, found {value!r}")
    return int(value)


def finite_number(value: Any, name: str, lowest: float = 0.0) -> float:
    """Return the value as a finite float ≥ lowest; raise ValueError if it is not."""
    if not lowest <= _float(value, name) < math.inf:
        raise ValueError(f"{name} must be a number ≥ {lowest:g}, found {value!r}")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """Return the value as a float > 0, infinity included; raise ValueError if it is not."""
    if not _float(value, name) > 0:
        raise ValueError(f"{name} must be a number > 0, found {value!r}")
    return float(value)


def check_flag(value: Any, name: str) -> None:
    """Raise ValueError unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, found {value!r}")


def stored_array(
    value: Any,
    name: str,
    dtype: Any,
    shape: tuple[int | None, ...],
    lowest: float = -math.inf,
    largest: float | None = None,
) -> NDArray[Any]:
    """Return an array of a file; raise ValueError unless it has this type and shape, and finite values ≥ lowest.

    None in a shape means any length. If `largest` is given, it is the greatest absolute value: infinity allows any
    number that is not NaN.
    """
    wanted = f"{name} must be an array of {np.dtype(dtype)} of shape {tuple('any' if n is None else n for n in shape)}"
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise ValueError(f"{wanted}, found {getattr(value, 'dtype', type(value).__name__)}")
    if value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        raise ValueError(f"{wanted}, found shape {value.shape}")
    fine = value.dtype.kind != "f" or (
        _is_finite(value) if largest is None else float(np.abs(value).max(initial=0.0)) <= largest  # as a double
    )
    if not fine or (lowest > -math.inf and (value < lowest).any()):
        limits = ("" if lowest == -math.inf else f" ≥ {lowest:g}") + ("" if largest is None else f" up to {largest:g}")
        raise ValueError(f"{wanted} with finite values{limits}")
    return value


def _is_finite(values: NDArray[Any]) -> bool:
    """Return whether all values are finite; their sum, if it is, takes a tenth of the time of a look at each."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def stored_names(value: Any, name: str) -> list[str]:
    """Return a list of names of a model file; raise ValueError unless it is a list of distinct strings."""
    strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not strings or len(set(value)) != len(value):
        raise ValueError(f"{name} must be a list of distinct strings, found {value!r:.60}")
    return list(value)


def _float(value: Any, name: str) -> float:
    """Return the value as a float; NaN if it is not a number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        raise beyond_floats(f"{name} must be a number") from None


def beyond_floats(expected: str, where: Where | None = None) -> ValueError:
    """Return the error for an integer that is too large for a float."""
    message = f"{expected} between ±1.8e308, found a larger one"
    return ValueError(message) if where is None else error_at(where, message)


#: Called as check(value, name): raises ValueError or TypeError if the value is invalid.
Check = Callable[[Any, str], Any]
T = TypeVar("T")

#: Width of the composed section of a docstring.
WIDTH = 116


def parameter(
    text: str = "", check: Check | None = None, *, default: Any = MISSING, kind: str = "", kw_only: bool = True
) -> Any:
    """Return a field that is a parameter.

    Parameters
    ----------
    text : str, default=""
        Documentation.
    check : callable or None, default=None
        ``check(value, name)`` raises ValueError if the value is invalid; None for no constraint of its own.
    default : object, optional
        The default; none if the parameter is required.
    kind : str, default=""
        Type in the documentation; by default the annotation.
    kw_only : bool, default=True
        Whether the parameter must be passed by name.
    """
    return field(default=default, kw_only=kw_only, metadata={"check": check, "text": text, "kind": kind})


def changed(text: str = "", check: Check | None = None, *, default: Any, kind: str = "") -> Any:
    """Return a field that a base class has declared, with another default; what is not given stays."""
    return field(default=default, kw_only=True, metadata={"check": check, "text": text, "kind": kind, "changed": True})


@overload
def declared(cls: type[T], /) -> type[T]: ...


@overload
def declared(*, frozen: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter, changed))
def declared(cls: Any = None, /, *, frozen: bool = False) -> Any:
    """Make a class whose fields are parameters a keyword-only dataclass, and document its parameters."""
    return _declared(cls) if cls is not None else partial(_declared, frozen=frozen)


def _declared(cls: type[T], frozen: bool = False) -> type[T]:
    before: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        before |= base.__dict__.get("__dataclass_fields__", {})
    made = dataclass(kw_only=True, eq=frozen, repr=False, frozen=frozen)(cls)
    for one in fields(made):  # type: ignore[arg-type]
        if one.metadata.get("changed"):
            inherited = before[one.name].metadata
            kept = {key: one.metadata[key] or inherited[key] for key in ("check", "text", "kind")}
            one.metadata = kept  # type: ignore[assignment]
    made.__doc__ = _documented(made, list(get_annotations(cls)))
    return made


def check_declared(owner: Any, prefix: str = "") -> None:
    """Raise ValueError for the first parameter that violates its own constraint; `prefix` is put before its name."""
    for one in fields(owner):
        check = one.metadata.get("check")
        if check is not None:
            check(getattr(owner, one.name), f"{prefix}{one.name}")


class Value:
    """Mixin of declared values: shown with the parameters that differ from their defaults."""

    def __repr__(self) -> str:
        shown = []
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if not one.kw_only:
                shown.append(repr(value))
            elif repr(value) != repr(one.default):
                shown.append(f"{one.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def choice(*values: Any) -> Check:
    """Return a check that a parameter is one of some values."""

    def check(value: Any, name: str) -> None:
        if not any(type(value) is type(other) and value == other for other in values):
            raise ValueError(f"{name} must be {' or '.join(map(repr, values))}, found {value!r:.60}")

    return check


def optional(inner: Check) -> Check:
    """Return a check that also accepts None."""

    def check(value: Any, name: str) -> None:
        if value is not None:
            inner(value, name)

    return check


def _documented(cls: type, own: list[str]) -> str:
    """Return the docstring of a class with a section of its parameters: those declared in the class first."""
    text = textwrap.dedent(_first_indented(cls.__doc__ or ""))
    items = {one.name: one for one in fields(cls) if one.init}
    order = [name for name in own if name in items] + [name for name in items if name not in own]
    section = ["Parameters", "----------", *(line for name in order for line in _item(items[name]))]
    head, mark, rest = text.partition("\nAttributes\n")
    if not mark:
        head, mark, rest = text.partition("\nExamples\n")
    return "\n".join([head.rstrip(), "", *section, "", (mark + rest).strip("\n")]).rstrip() + "\n"


def _first_indented(text: str) -> str:
    """Return a docstring whose first line is indented as the others are."""
    lines = text.split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    return "\n".join([" " * min(indents, default=0) + lines[0], *lines[1:]])


def _item(one: Field[Any]) -> list[str]:
    kind = one.metadata.get("kind") or str(one.type).replace(" | ", " or ")
    default = "" if one.default is MISSING else f", default={_shown(one.default)}"
    text = " ".join(one.metadata.get("text", "").split())
    return [
        f"{one.name} : {kind}{default}",
        *textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    "),
    ]


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)

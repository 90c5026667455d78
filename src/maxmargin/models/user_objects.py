"""User-defined classes and functions: a file has their names, and whoever loads it gives the objects.

A file never chooses what is called: its names are only compared with those of the objects that the caller of `load`
passes, and no module is searched for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MethodType
from typing import Any

from maxmargin._base.archive import BadFileError
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.models.values import expect

_METHODS = ("loss", "argmax", "loss_augmented_argmax")
_FEATURES = ("joint_feature", "joint_kernel")
#: Names of parameters of structures that estimators call otherwise.
_OTHER_NAMES = {"cost": "loss"}


class UserCodeError(ValueError):
    """A user-defined class failed while it was saved or loaded."""


def is_structure(kind: type) -> bool:
    """Return whether a class is a structure: a `Structure`, or a class with its four methods."""
    if issubclass(kind, Structure):
        return True
    has = {name for name in (*_METHODS, *_FEATURES) if callable(getattr(kind, name, None))}
    return has.issuperset(_METHODS) and not has.isdisjoint(_FEATURES)


def is_estimator(kind: type) -> bool:
    """Return whether a class is an estimator."""
    return issubclass(kind, MaxMarginEstimator)


def class_content(kind: type) -> dict[str, str]:
    """Return the name of a user-defined class as JSON."""
    return {"module": kind.__module__, "name": kind.__qualname__}


class FunctionNames:
    """The names of the functions of a model: each is the end of its place, such as ``solve``.

    Attributes
    ----------
    functions : dict of str to callable
        The functions by name.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}

    def name_of(self, function: Any, where: str) -> str:
        """Return the shortest end of the place that is not the name of another function."""
        for name in _ends(where):
            known = self.functions.setdefault(name, function)
            if known is function or (isinstance(function, MethodType) and known == function):
                return name
        raise ValueError(f"{where} cannot be saved: it is a second function at the same place")

    def described(self) -> dict[str, str]:
        """Return what each function was called where it was saved, for messages."""
        return {name: _described(function) for name, function in self.functions.items()}


class Given:
    """Classes and functions that the caller of `load` gives.

    Parameters
    ----------
    functions : mapping of str to callable or None
        Functions by their names in the model.
    classes : class, iterable of classes or None
        User-defined structures and estimators.
    """

    def __init__(self, functions: Mapping[str, Any] | None, classes: type | Iterable[type] | None) -> None:
        if functions is not None and not isinstance(functions, Mapping):
            raise TypeError(f"functions must be a dict from names to functions, found {functions!r:.60}")
        self.functions = dict(functions or {})
        for name, function in self.functions.items():
            if not isinstance(name, str) or not callable(function):
                raise TypeError(f"functions[{name!r}] must be a function, found {function!r:.60}")
        whole = isinstance(classes, Iterable) and not isinstance(classes, type)
        listed: Any = classes if whole else [] if classes is None else [classes]
        self.classes: list[type] = list(listed)
        for kind in self.classes:
            if not isinstance(kind, type) or not (is_structure(kind) or is_estimator(kind)):
                raise TypeError(f"classes must be classes of structures or estimators, found {kind!r:.60}")

    def check(self, needed: Any) -> None:
        """Raise BadFileError that names all classes and functions of the file that were not given."""
        expect(needed, dict, "needs")
        classes: list[Any] = expect(needed.get("classes"), list, "needs.classes")
        functions: dict[str, Any] = expect(needed.get("functions"), dict, "needs.functions")
        names = [self._class_names(content, "needs.classes") for content in classes]
        absent = [(module, name) for module, name in names if self._found(module, name) is None]
        unset = [name for name in functions if name not in self.functions]
        if absent or unset:
            raise _missing(absent, {name: str(functions[name]) for name in unset})
        for name in self.functions:
            if name not in functions:
                known = ", ".join(map(repr, functions)) or "none"
                raise BadFileError(f"has no function {name!r} (its functions: {known}); correct the keys of functions")

    def class_of(self, content: dict[str, Any], fits: Callable[[type], bool], what: str, where: str) -> type:
        """Return the given class of this name; raise BadFileError if none was given, or if it does not fit."""
        module, name = self._class_names(content, where)
        found = self._found(module, name)
        if found is None:
            raise _missing([(module, name)], {})
        if not fits(found):
            raise BadFileError(f"is damaged: {where} is {_an(what)}, and the class {name} is not")
        return found

    def function(self, content: Any, where: str) -> Any:
        """Return the given function of this name; raise BadFileError if it does not belong to this place."""
        if isinstance(content, dict):
            raise BadFileError(
                "was written by an earlier version, which saved functions by the names of their modules; "
                "save the model again"
            )
        name = expect(content, str, where)
        if name not in _ends(where):
            raise BadFileError(f"is damaged: {where} is the function {name!r}, expected one of its own name")
        if name not in self.functions:
            raise _missing([], {name: name})
        return self.functions[name]

    @staticmethod
    def _class_names(content: Any, where: str) -> tuple[str, str]:
        module, name = (expect(expect(content, dict, where).get(key), str, where) for key in ("module", "name"))
        return module, name

    def _found(self, module: str, name: str) -> type | None:
        """Return the given class of this name, wherever it is defined; of two, the one of this module."""
        same = [kind for kind in self.classes if kind.__qualname__ == name]
        return next((kind for kind in same if kind.__module__ == module), same[0] if len(same) == 1 else None)


def _missing(classes: list[tuple[str, str]], functions: dict[str, str]) -> BadFileError:
    """Return the error that says what to pass to `load`."""
    needed = [f"the class {name} (of the module {module} when it was saved)" for module, name in classes]
    needed += [f"the function {name!r} ({saved} when it was saved)" for name, saved in functions.items()]
    passed = []
    if classes:
        passed.append(f"classes=[{', '.join(name for _, name in classes)}]")
    if functions:
        passed.append(f"functions={{{', '.join(f'{name!r}: …' for name in functions)}}}")
    return BadFileError(
        f"needs {' and '.join(needed)}; a file never chooses what is called, so pass your own in Python: "
        f"maxmargin.load(path, {', '.join(passed)})"
    )


def _ends(where: str) -> Iterator[str]:
    """Yield the ends of a place, such as ``solve`` and ``optimizer.solve``, the shortest first."""
    *before, last = where.split(".")
    last = _OTHER_NAMES.get(last, last)
    for start in range(len(before), -1, -1):
        yield ".".join([*before[start:], last])


def _described(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}" if isinstance(name, str) else f"an instance of {type(function).__qualname__}"


def _an(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"

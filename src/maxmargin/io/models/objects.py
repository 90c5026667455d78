"""Objects in model files besides plain values: structures, and small objects of the library.

A structure is saved by its class and, in this order of preference, by the result of ``get_state()`` (restored by the
class method ``from_state(state)``), by its ``get_params()`` and public attributes, or by all its attributes. Classes of
the library are saved by name, user-defined classes by module and qualified name. Loading imports only modules that the
caller names; classes are looked up where they already are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from maxmargin._types import AnyArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.structure import Structure
from maxmargin.encoding.hierarchy import is_graph, plain_hierarchy
from maxmargin.encoding.templates import TokenTemplates
from maxmargin.io.models.archive import BadFileError
from maxmargin.io.models.optimizers import optimizer_content, optimizer_from
from maxmargin.io.models.values import Reader, Writer, expect
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.registry import public_class
from maxmargin.solvers.base import Solver
from maxmargin.solvers.registry import SOLVERS
from maxmargin.structures.chain.constraints import Constraints

#: Frozen dataclasses, saved by their fields.
RECORDS: dict[str, type] = {
    "Certificate": Certificate,
    "Constraints": Constraints,
    "TokenTemplates": TokenTemplates,
    **{f"solver {name}": solver for name, solver in SOLVERS.items()},
}

_METHODS = ("loss", "argmax", "loss_augmented_argmax")
_FEATURES = ("joint_feature", "joint_kernel")


class UserCodeError(ValueError):
    """A user-defined class failed while it was saved or loaded."""


def is_structure(kind: type) -> bool:
    """Return whether a class is a structure: a `Structure`, or a class with its four methods."""
    if issubclass(kind, Structure):
        return True
    has = {name for name in (*_METHODS, *_FEATURES) if callable(getattr(kind, name, None))}
    return has.issuperset(_METHODS) and not has.isdisjoint(_FEATURES)


class ModelWriter(Writer):
    """A `Writer` of structures, solvers and other objects.

    Attributes
    ----------
    modules : list of str
        Modules of the classes outside the library, sorted; a reader needs them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._modules: set[str] = set()

    @property
    def modules(self) -> list[str]:
        return sorted(self._modules)

    def encode_object(self, value: Any, where: str) -> Any:
        for name, kind in RECORDS.items():
            if type(value) is kind:
                content = {field.name: getattr(value, field.name) for field in fields(kind)}
                return {"$record": name, "fields": self.names(content, where)}
        if type(value) is np.random.RandomState and value.get_state()[0] == "MT19937":  # type: ignore[index]
            return {"$random": self.encode(value.get_state(), where)}
        if is_graph(value):  # a hierarchy of classes
            return self.encode(plain_hierarchy(value), where)
        if not isinstance(value, type) and is_structure(type(value)):
            kind = self.class_name(type(value), where)
            return {"$structure": kind, **self._structure_content(value, where)}
        if isinstance(value, Optimizer):
            return optimizer_content(self, value, where)
        if isinstance(value, FunctionType):
            if "<" in value.__qualname__:
                raise ValueError(
                    f"{where} cannot be saved: it is a function, {value.__qualname__}, that other processes cannot "
                    f"find; define it at the top level of a module"
                )
            return {"$function": self.function_name(value, where)}
        return super().encode_object(value, where)

    def class_name(self, kind: type, where: str) -> Any:
        """Return the name by which a reader finds the class."""
        module, name = kind.__module__, kind.__qualname__
        if public_class(name) is kind:
            return name
        if "<locals>" in name:
            raise ValueError(
                f"{where} cannot be saved: its class {name} is defined inside a function, where other processes "
                f"cannot find it; define it at the top level of a module"
            )
        if _look_up(sys.modules.get(module), name) is not kind:
            raise ValueError(f"{where} cannot be saved: {module}.{name} is not its class {kind!r}")
        self._modules.add(module)
        return {"module": module, "name": name}

    def function_name(self, function: FunctionType, where: str) -> dict[str, str]:
        """Return the name by which a reader finds a function at the top level of a module."""
        module, name = function.__module__, function.__qualname__
        if _look_up(sys.modules.get(module), name) is not function:
            raise ValueError(f"{where} cannot be saved: {module}.{name} is not this function")
        self._modules.add(module)
        return {"module": module, "name": name}

    def _structure_content(self, structure: Any, where: str) -> dict[str, Any]:
        kind = type(structure)
        if hasattr(structure, "get_state"):
            if not hasattr(kind, "from_state"):
                raise ValueError(f"{where} cannot be saved: {kind.__name__} has get_state but no from_state")
            return {"state": self.encode(_own(kind, "get_state", structure.get_state), where)}
        parameters: dict[str, Any] = {}
        content: dict[str, Any] = {}
        attributes = getattr(structure, "__dict__", None)
        try:
            if attributes is None:
                raise ValueError(f"{where} cannot be saved: {kind.__name__} has no __dict__ to take attributes from")
            if hasattr(structure, "get_params"):
                parameters = _own(kind, "get_params", lambda: structure.get_params(deep=False))
                content["parameters"] = self.names(parameters, where)
                attributes = {name: value for name, value in attributes.items() if not name.startswith("_")}
            learnt = {name: value for name, value in attributes.items() if name not in parameters}
            return content | {"attributes": self.names(learnt, where)}
        except UserCodeError:
            raise
        except ValueError as error:
            raise ValueError(
                f"{error}. To save it, give {kind.__name__} the methods get_state(self), which returns such values, "
                f"and from_state(cls, state), a class method that restores the structure"
            ) from None


class ModelReader(Reader):
    """Reader of the output of `ModelWriter`.

    Parameters
    ----------
    array : callable
        Returns the array of a name.
    classes : Classes
        Finds classes.
    """

    def __init__(self, array: Callable[[str], AnyArray], classes: Classes) -> None:
        super().__init__(array)
        self.classes = classes

    def decode_object(self, tag: str, content: dict[str, Any], where: str) -> Any:
        if tag == "$record":
            return self._record(content, where)
        if tag == "$random":
            return _random_state(self.decode(content[tag], where), where)
        if tag == "$structure":
            return self.structure(content, where)
        if tag == "$optimizer":
            return optimizer_from(self, content, where)
        if tag == "$function":
            return self.classes.find(
                content[tag], lambda found: isinstance(found, FunctionType), "function", where, FunctionType
            )
        return super().decode_object(tag, content, where)

    def _record(self, content: dict[str, Any], where: str) -> Any:
        kind = RECORDS.get(expect(content["$record"], str, where))
        if kind is None:
            raise BadFileError(f"is damaged, or of another version: {where} is an unknown {content['$record']!r}")
        values = self.names(content["fields"], where)
        return kind(**(_known_parameters(kind, values, where) if issubclass(kind, Solver) else values))

    def structure(self, content: Any, where: str) -> Any:
        """Return the structure encoded in JSON."""
        expect(content, dict, where)
        kind = self.classes.find(content.get("$structure"), is_structure, "structure", where)
        if "state" in content:
            state = self.decode(content["state"], where)
            if content["$structure"] == kind.__name__:
                return kind.from_state(state)
            return _own(kind, "from_state", lambda: kind.from_state(state))
        attributes = self.names(content["attributes"], where)
        if "parameters" in content:
            parameters = self.names(content["parameters"], where)
            structure = _own(kind, "__init__", lambda: kind(**parameters))
        else:
            structure = _own(kind, "__new__", lambda: kind.__new__(kind))
        vars(structure).update(attributes)
        return structure


class Classes:
    """Look-up of classes without importing modules that the caller did not allow.

    Parameters
    ----------
    modules : iterable of str or module
        Modules that may be imported.
    """

    def __init__(self, modules: str | ModuleType | Iterable[str | ModuleType]) -> None:
        given = [modules] if isinstance(modules, str | ModuleType) else list(modules)
        self.named = [module.__name__ if isinstance(module, ModuleType) else module for module in given]

    def check(self, needed: Iterable[Any]) -> None:
        """Raise an error, before any import, unless all these modules are imported or may be imported."""
        missing = [name for name in needed if sys.modules.get(name) is None and name not in self.named]
        if missing:
            names = ", ".join(map(repr, missing))
            raise BadFileError(
                f"needs classes of {names}, which this program has not imported. If you trust their code, "
                f"import before you load, or allow it: load(path, modules=[{names}])"
            )

    def find(self, name: Any, fits: Callable[[Any], bool], what: str, where: str, kind: type = type) -> Any:
        """Return the class (or another `kind` of object) of this name, in the library or elsewhere, if it `fits`."""
        if isinstance(name, str):
            public = public_class(name)
            if public is None or not fits(public):
                raise BadFileError(f"is damaged, or of another version: there is no {what} {name!r}")
            return public
        module, qualified = (expect(expect(name, dict, where).get(key), str, where) for key in ("module", "name"))
        self.check([module])
        homes = [module, *self.named] if module == "__main__" else [module]
        for home in homes:
            found = _look_up(self._module(home), qualified)
            if isinstance(found, kind) and fits(found):
                return found
        hint = ""
        if module == "__main__":
            hint = "; it was saved by a script, so pass the script's module: load(path, modules=['my_script'])"
        noun = "class" if kind is type else what
        raise BadFileError(f"needs the {noun} {qualified} of {module}, but this {what} does not exist{hint}")

    @staticmethod
    def _module(name: str) -> ModuleType:
        if sys.modules.get(name) is not None:
            return sys.modules[name]
        try:
            return import_module(name)
        except ImportError as error:
            raise ImportError(f"the module {name!r}, which a model needs, cannot be imported: {error}") from error


def _known_parameters(kind: type[Solver], values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the parameters that the solver has; warn about others, which another version had."""
    known = {field.name for field in fields(kind)}
    unknown = [name for name in values if name not in known]
    if unknown:
        warnings.warn(
            f"{where}: this version of {kind.__name__} has no parameter {', '.join(unknown)}; the saved values are "
            f"ignored, and a new fit uses the defaults of this version",
            UserWarning,
            stacklevel=2,
        )
    return {name: value for name, value in values.items() if name in known}


def _look_up(module: ModuleType | None, qualified: str) -> Any:
    """Return the object of a qualified name, by look-up alone: getattr could call a module's __getattr__."""
    found: Any = module
    for part in qualified.split("."):
        found = vars(found).get(part) if isinstance(found, type | ModuleType) else None
    return found


def _own(kind: type, method: str, call: Callable[[], Any]) -> Any:
    """Return what the user's code returns; raise UserCodeError if it fails."""
    try:
        return call()
    except Exception as error:
        raise UserCodeError(f"{kind.__name__}.{method} raised {type(error).__name__}: {error}") from error


def _random_state(state: Any, where: str) -> np.random.RandomState:
    """Return the generator in this state, checked: NumPy would read any memory that an invalid state refers to."""
    kinds = (str, np.ndarray, int, int, float)
    sound = type(state) is tuple and tuple(map(type, state)) == kinds and state[0] == "MT19937"
    if sound:
        words, position, drawn = state[1:4]
        sound = words.shape == (624,) and words.dtype == np.uint32 and 0 <= position <= 624 and drawn in (0, 1)
    if not sound:
        raise BadFileError(f"is damaged: {where} is not the state of a random generator")
    generator = np.random.RandomState()
    generator.set_state(state)
    return generator

"""Objects in model files besides plain values: structures, and small objects of the library.

A structure is saved by its class and, in this order of preference, by the result of ``get_state()`` (restored by the
class method ``from_state(state)``), by its ``get_params()`` and public attributes, or by all its attributes.

A file never chooses what is called. A name in a file is looked up in fixed tables only: the public classes of the
library, `RECORDS`, ready optimisers; and in what the caller of `load` gives (`Given`): user-defined classes and
functions. No module is searched or imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from types import MethodType
from typing import Any

import numpy as np

from maxmargin._base.archive import BadFileError
from maxmargin._base.types import AnyArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.features.mercer.kernel import Kernel
from maxmargin.features.rows.hierarchy import is_graph, plain_hierarchy
from maxmargin.features.text.templates import TokenTemplates
from maxmargin.models.optimizers import optimizer_content, optimizer_from
from maxmargin.models.values import Reader, Writer, expect
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.registry import REPLACED, public_class
from maxmargin.solvers.base import Solver
from maxmargin.solvers.registry import SOLVERS
from maxmargin.structures.chain.constraints import Constraints

# ---------------------------------------------------------------------- classes and functions of the caller


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
    classes : class, iterable or dict of classes, or None
        User-defined structures and estimators; keys of a dict have no meaning.
    """

    def __init__(self, functions: Mapping[str, Any] | None, classes: type | Iterable[type] | None) -> None:
        if functions is not None and not isinstance(functions, Mapping):
            raise TypeError(f"functions must be a dict from names to functions, found {functions!r:.60}")
        self.functions = dict(functions or {})
        for name, function in self.functions.items():
            if not isinstance(name, str) or not callable(function):
                raise TypeError(f"functions[{name!r}] must be a function, found {function!r:.60}")
        classes = classes.values() if isinstance(classes, Mapping) else classes
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
        given_class = self._found(module, name)
        if given_class is None:
            raise _missing([(module, name)], {})
        if not fits(given_class):
            raise BadFileError(f"is damaged: {where} is {_an(what)}, and the class {name} is not")
        return given_class

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


# ---------------------------------------------------------------------- writing and reading


#: Frozen dataclasses, saved by their fields.
RECORDS: dict[str, type] = {
    "Certificate": Certificate,
    "Constraints": Constraints,
    "Kernel": Kernel,
    "TokenTemplates": TokenTemplates,
    **{f"solver {name}": solver for name, solver in SOLVERS.items()},
}

#: Names of sizes in the states of structures.
SIZES = ("width", "n_features", "n_labels", "max_loop")


class ModelWriter(Writer):
    """A `Writer` of structures, solvers and other objects.

    Attributes
    ----------
    classes : dict of str to content
        The user-defined classes that a reader needs, by name.
    functions : FunctionNames
        The functions that a reader needs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.classes: dict[str, Any] = {}
        self.functions = FunctionNames()

    def encode_object(self, value: Any, where: str) -> Any:
        for name, kind in RECORDS.items():
            if type(value) is kind:
                content = {field.name: getattr(value, field.name) for field in fields(kind)}
                return {"$record": name, "fields": self.names(content, where)}
        if type(value) is np.random.RandomState and value.get_state()[0] == "MT19937":  # type: ignore[index]
            return {"$random": self.encode(value.get_state(), where)}
        if not isinstance(value, type) and is_structure(type(value)):
            kind = self.class_name(type(value))
            return {"$structure": kind, **self._structure_content(value, where)}
        if is_graph(value):  # a hierarchy of classes
            return self.encode(plain_hierarchy(value), where)
        if isinstance(value, Optimizer):
            return optimizer_content(self, value, where)
        if callable(value) and not isinstance(value, type):
            return {"$function": self.functions.name_of(value, where)}
        return super().encode_object(value, where)

    def class_name(self, kind: type) -> Any:
        """Return the name by which a reader finds the class: a string for a class of the library."""
        if public_class(kind.__qualname__) is kind:
            return kind.__qualname__
        content = class_content(kind)
        self.classes[f"{content['module']}.{content['name']}"] = content
        return content

    def _structure_content(self, structure: Any, where: str) -> dict[str, Any]:
        kind = type(structure)
        if hasattr(kind, "get_state"):
            if not hasattr(kind, "from_state"):
                raise ValueError(f"{where} cannot be saved: {kind.__name__} has get_state but no from_state")
            return {"state": self.encode(_own(kind, "get_state", structure.get_state), where)}
        parameters: dict[str, Any] = {}
        content: dict[str, Any] = {}
        attributes = getattr(structure, "__dict__", None)
        try:
            if attributes is None:
                raise ValueError(f"{where} cannot be saved: {kind.__name__} has no __dict__ to take attributes from")
            if hasattr(kind, "get_params"):
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
    given : Given
        The classes and functions of the caller.
    most : int
        The maximum number of features or labels that a structure of the library may claim.
    """

    def __init__(self, array: Callable[[str], AnyArray], given: Given, most: int) -> None:
        super().__init__(array)
        self.given, self.most = given, most

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
            return self.given.function(content[tag], where)
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
        kind = self.class_of(content.get("$structure"), is_structure, "structure", where)
        if isinstance(content["$structure"], str):
            state = expect(self.decode(content.get("state"), where), dict, f"{where}.state")
            expect(state.get("parameters"), dict, f"{where}.state.parameters")
            expect(state.get("learnt", {}), dict, f"{where}.state.learnt")
            _check_sizes(state, self.most, where)
            return kind.from_state(state)
        if hasattr(kind, "get_state"):
            state = self.decode(content["state"], where)
            return _own(kind, "from_state", lambda: kind.from_state(state))
        attributes = self.names(content["attributes"], where)
        _check_attributes(kind, attributes)
        if hasattr(kind, "get_params"):
            parameters = self.names(content["parameters"], where)
            structure = _own(kind, "__init__", lambda: kind(**parameters))
        else:
            structure = _own(kind, "__new__", lambda: kind.__new__(kind))
        vars(structure).update(attributes)
        return structure

    def class_of(self, content: Any, fits: Callable[[type], bool], what: str, where: str) -> Any:
        """Return the class of this name if it `fits`: one of the library, or one that the caller gave."""
        if not isinstance(content, str):
            return self.given.class_of(expect(content, dict, where), fits, what, where)
        if content in REPLACED:
            raise BadFileError(
                f"has the {what} {content}, which this version does not have: fit {REPLACED[content]} to the "
                f"same data, and save it again"
            )
        public = public_class(content)
        if public is None or not fits(public):
            raise BadFileError(f"is damaged, or of another version: there is no {what} {content!r}")
        return public


def _check_sizes(state: Any, most: int, where: str) -> None:
    """Raise BadFileError if a claimed size is more than a file of this size can hold: names of features take memory."""
    for name, value in state.items() if isinstance(state, dict) else enumerate(state):
        if isinstance(value, dict | list):
            _check_sizes(value, most, f"{where}.{name}")
        elif name in SIZES and type(value) is int and value > most and "kernel" not in state:  # its points are checked
            raise BadFileError(f"is damaged: {where}.{name} is {value}, more than a file of its size can hold")


def _check_attributes(kind: type, attributes: dict[str, Any]) -> None:
    """Raise BadFileError if an attribute takes the place of a method, or is not the name of an attribute."""
    for name in attributes:
        special = name.startswith("__") and name.endswith("__")
        if special or not name.isidentifier() or callable(getattr(kind, name, None)):
            raise BadFileError(f"is damaged: {name!r} is not an attribute of {kind.__name__} that a file may set")


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


def _own(kind: type, method: str, call: Callable[[], Any]) -> Any:
    """Return the result of the user's code; raise UserCodeError if it fails."""
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

"""Plain values as JSON that preserves their types, with arrays stored separately.

``None``, booleans, numbers, strings, lists and dicts with string keys are JSON unchanged. Everything else is an object
with a key that begins with ``$``: ``{"$tuple": [1, 2]}``, ``{"$float": "inf"}``, ``{"$array": "weights"}``. So 1, 1.0,
True and "1" remain four different values, and a tuple is not read as a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from maxmargin._base.archive import ARRAY_KINDS, BadFileError
from maxmargin._base.types import AnyArray

#: Integers up to this size are JSON numbers; larger ones are hexadecimal, which has no limit on digits.
LARGEST_NUMBER = 1 << 64

#: Ranges are read up to this length: a few bytes must not become a list that fills the memory.
LONGEST_RANGE = 1_000_000

SAVED_KINDS = "None, booleans, numbers, strings, bytes, tuples, lists, dicts, sets and NumPy arrays"


class Writer:
    """Encoder of values as JSON that collects their arrays.

    Attributes
    ----------
    arrays : dict of str to array
        Arrays by the name under which the JSON refers to them.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; `where` is its name in error messages and the name of its arrays."""
        if value is None:
            return None
        encode = _ENCODERS.get(type(value))
        if encode is not None:
            return encode(self, value, where)
        if isinstance(value, np.generic):
            return _scalar_to_json(self, value, where)
        return self.encode_object(value, where)

    def encode_object(self, value: Any, where: str) -> Any:
        """Raise ValueError if a value is not plain; subclasses encode more types."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        raise ValueError(f"{where} cannot be saved: it is {_an(type(value).__name__)} {shown}; {SAVED_KINDS} can")

    def items(self, values: Iterable[Any], where: str) -> list[Any]:
        return [self.encode(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def names(self, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        return {name: self.encode(value, f"{where}.{name}") for name, value in values.items()}

    def keep(self, array: AnyArray, where: str) -> str:
        """Store an array and return its name."""
        base = re.sub(r"[^A-Za-z0-9_.]+", "_", where).strip("_.") or "array"
        name, n = base, 1
        while name in self.arrays:
            n += 1
            name = f"{base}-{n}"
        self.arrays[name] = array
        return name


class Reader:
    """Decoder of the JSON of a `Writer`.

    Parameters
    ----------
    array : callable
        Returns the array of a name.
    """

    def __init__(self, array: Callable[[str], AnyArray]) -> None:
        self.array = array

    def decode(self, content: Any, where: str) -> Any:
        """Return the value encoded in JSON; `where` is its name in error messages."""
        if isinstance(content, list):
            return self.items(content, where)
        if not isinstance(content, dict):
            return content
        tag = next((key for key in content if key.startswith("$")), None)
        if tag is None:
            return self.names(content, where)
        decode = _DECODERS.get(tag)
        if decode is not None and len(content) == 1:
            return decode(self, content[tag], where)
        return self.decode_object(tag, content, where)

    def decode_object(self, tag: str, content: dict[str, Any], where: str) -> Any:
        """Raise an error if a value is not plain; subclasses decode more types."""
        raise BadFileError(f"is damaged: {where} is of an unknown kind {tag!r}")

    def items(self, content: Any, where: str) -> list[Any]:
        return [self.decode(item, f"{where}[{i}]") for i, item in enumerate(expect(content, list, where))]

    def names(self, content: Any, where: str) -> dict[str, Any]:
        return {name: self.decode(item, f"{where}.{name}") for name, item in expect(content, dict, where).items()}


def expect(value: Any, kind: type, where: str) -> Any:
    """Return the value; raise an error if it is not of exactly this type."""
    if type(value) is not kind:
        raise BadFileError(f"is damaged: {where} is {_an(type(value).__name__)}, expected {_an(kind.__name__)}")
    return value


def _an(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


# ---------------------------------------------------------------------- one kind after the other


def _same(coder: Any, value: Any, where: str) -> Any:
    return value


def _int_to_json(writer: Writer, value: int, where: str) -> Any:
    return value if abs(value) < LARGEST_NUMBER else {"$int": hex(value)}


def _float_to_json(writer: Writer, value: float, where: str) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


def _str_to_json(writer: Writer, value: str, where: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        return {"$str": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _dict_to_json(writer: Writer, value: dict[Any, Any], where: str) -> Any:
    if all(type(key) is str and not key.startswith("$") and _str_to_json(writer, key, where) is key for key in value):
        return writer.names(value, where)
    return {
        "$dict": [
            [writer.encode(key, f"{where}, key {n}"), writer.encode(item, f"{where}, value {n}")]
            for n, (key, item) in enumerate(value.items())
        ]
    }


def _dict_from_json(reader: Reader, content: Any, where: str) -> dict[Any, Any]:
    pairs = [tuple(pair) for pair in reader.items(content, where)]
    return dict(pairs)


def _range_to_json(writer: Writer, value: range, where: str) -> Any:
    if abs(value.stop - value.start) > LONGEST_RANGE * abs(value.step):
        raise ValueError(f"{where} cannot be saved: it is a range of more than {LONGEST_RANGE} numbers")
    return {"$range": [value.start, value.stop, value.step]}


def _range_from_json(reader: Reader, content: Any, where: str) -> range:
    start, stop, step = (expect(part, int, where) for part in expect(content, list, where))
    if abs(stop - start) > LONGEST_RANGE * abs(step):
        raise BadFileError(f"is damaged: {where} is a range of more than {LONGEST_RANGE} numbers")
    return range(start, stop, step)


def _set_to_json(writer: Writer, value: Any, where: str) -> Any:
    return {f"${type(value).__name__}": writer.items(sorted(value, key=repr), where)}


def _array_to_json(writer: Writer, value: AnyArray, where: str) -> Any:
    if value.dtype == object:
        return {"$objects": [list(value.shape), writer.items(value.ravel().tolist(), where)]}
    if value.dtype.kind not in ARRAY_KINDS or value.dtype.itemsize == 0 or value.dtype.names:
        raise ValueError(f"{where} cannot be saved: it is an array of {value.dtype}; {SAVED_KINDS} can")
    return {"$array": writer.keep(np.asarray(value), where)}


def _objects_from_json(reader: Reader, content: Any, where: str) -> AnyArray:
    shape, items = expect(content, list, where)
    values = reader.items(items, where)
    flat = np.empty(len(values), object)
    for position, value in enumerate(values):
        flat[position] = value
    return flat.reshape(shape)


def _scalar_to_json(writer: Writer, value: np.generic, where: str) -> Any:
    item = value.item()
    if value.dtype.kind not in "biufSU" or isinstance(item, np.generic):
        return writer.encode_object(value, where)
    return {"$scalar": [value.dtype.str, writer.encode(item, where)]}


def _scalar_from_json(reader: Reader, content: Any, where: str) -> Any:
    name, item = expect(content, list, where)
    dtype = np.dtype(expect(name, str, where))
    if dtype.kind not in "biufSU" or dtype.names:
        raise BadFileError(f"is damaged: {where} is a scalar of {dtype}")
    kind = {"b": bool, "i": int, "u": int, "f": float, "S": bytes, "U": str}[dtype.kind]
    return dtype.type(expect(reader.decode(item, where), kind, where))


_ENCODERS: dict[type, Callable[[Writer, Any, str], Any]] = {
    bool: _same,
    int: _int_to_json,
    float: _float_to_json,
    str: _str_to_json,
    list: Writer.items,
    dict: _dict_to_json,
    tuple: lambda writer, value, where: {"$tuple": writer.items(value, where)},
    set: _set_to_json,
    frozenset: _set_to_json,
    range: _range_to_json,
    bytes: lambda writer, value, where: {"$bytes": value.hex()},
    np.ndarray: _array_to_json,
    np.memmap: _array_to_json,
}

_DECODERS: dict[str, Callable[[Reader, Any, str], Any]] = {
    "$int": lambda reader, content, where: int(expect(content, str, where), 16),
    "$float": lambda reader, content, where: float(expect(content, str, where)),
    "$str": lambda reader, content, where: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "$dict": _dict_from_json,
    "$tuple": lambda reader, content, where: tuple(reader.items(content, where)),
    "$set": lambda reader, content, where: set(reader.items(content, where)),
    "$frozenset": lambda reader, content, where: frozenset(reader.items(content, where)),
    "$range": _range_from_json,
    "$bytes": lambda reader, content, where: bytes.fromhex(content),
    "$objects": _objects_from_json,
    "$scalar": _scalar_from_json,
    "$array": lambda reader, content, where: reader.array(expect(content, str, where)),
}

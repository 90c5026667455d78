"""Whatever happens to the files of compiled functions, calls return the right result."""

import importlib.util
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from maxmargin._base import jit as _jit

SOURCE = "from maxmargin._base.jit import jit\n\n\n@jit\ndef {name}(x):\n    return x {sign} 3\n"


@pytest.fixture
def fresh(tmp_path):
    """The function of a new file, compiled by a dispatcher that knows nothing but the cache."""

    def define(name="shifted", sign="+"):
        path, source = tmp_path / f"mm_{name}.py", SOURCE.format(name=name, sign=sign)
        if not path.exists() or path.read_text() != source:  # Numba 0.60 compares the time of the last change
            path.write_text(source)
        spec = importlib.util.spec_from_file_location(f"mm_{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)

    return define


def hits(function):
    return sum(function.stats.cache_hits.values())


def files(tmp_path, ending):
    found = sorted((tmp_path / "__pycache__").glob(f"*.{ending}"))
    assert found
    return found


def flip(content, at):
    return content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "a byte less": lambda content: content[:-1],
    "random": lambda content: np.random.default_rng(0).bytes(len(content)),
    "random after the digest": lambda content: content[:16] + np.random.default_rng(0).bytes(len(content) - 16),
    "a bit in the digest": lambda content: flip(content, 3),
    "a bit in the middle": lambda content: flip(content, len(content) // 2),
    "a bit near the end": lambda content: flip(content, len(content) - 40),
    "another pickle": lambda content: b"\x80\x05N.",
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_replaced(fresh, tmp_path, ending):
    assert fresh()(5) == 8
    again = fresh()
    assert (again(5), hits(again)) == (8, 1)
    for name, damage in DAMAGE.items():
        for path in files(tmp_path, ending):
            path.write_bytes(damage(path.read_bytes()))
        after = fresh()
        assert (after(5), hits(after)) == (8, 0), name
        healed = fresh()
        assert (healed(5), hits(healed)) == (8, 1), name


def test_the_code_of_another_signature_is_not_run(fresh, tmp_path):
    """Two processes that write at the same time can leave such an index."""
    function = fresh()
    assert (function(5), function(0.5)) == (8, 3.5)
    first, second = files(tmp_path, "nbc")
    held = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)
    after = fresh()
    assert (after(5), after(0.5), hits(after)) == (8, 3.5, 0)


def test_the_code_of_another_version_is_not_run(fresh, tmp_path):
    """A process that ends between writing the index and the data leaves the old data."""
    assert fresh()(5) == 8
    (old,) = files(tmp_path, "nbc")
    held = old.read_bytes()
    assert fresh(sign="-")(5) == 2
    old.write_bytes(held)
    after = fresh(sign="-")
    assert (after(5), hits(after)) == (2, 0)


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_one_warning(fresh, monkeypatch):
    monkeypatch.setattr(_jit, "_warned", False)
    monkeypatch.setattr(_jit.CheckedFiles, "_open_for_write", full_disk)
    function = fresh()
    with pytest.warns(UserWarning, match=r"cannot be kept in .*No space left.*NUMBA_CACHE_DIR"):
        assert function(5) == 8
    assert function(0.5) == 3.5
    assert fresh("other")(5) == 8
    monkeypatch.undo()
    assert hits(fresh()) == 0


def test_a_directory_that_cannot_be_written_any_more(fresh, tmp_path, monkeypatch):
    function = fresh()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    (tmp_path / "__pycache__").write_text("a file, so that even root cannot write there")
    monkeypatch.setattr(_jit, "_warned", False)
    with pytest.warns(UserWarning, match="cannot be kept in"):
        assert function(5) == 8


def test_a_directory_that_was_removed(fresh, tmp_path):
    assert fresh()(5) == 8
    function = fresh()
    shutil.rmtree(tmp_path / "__pycache__")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(5) == 8
    assert (function(0.5), hits(function)) == (3.5, 0)
    again = fresh()
    assert (again(5), hits(again)) == (8, 1)


def test_a_file_that_became_a_directory(fresh, tmp_path, monkeypatch):
    assert fresh()(5) == 8
    for path in [*files(tmp_path, "nbi"), *files(tmp_path, "nbc")]:
        path.unlink()
        Path(path).mkdir()
    monkeypatch.setattr(_jit, "_warned", False)
    function = fresh()
    with pytest.warns(UserWarning, match="cannot be kept in"):
        assert function(5) == 8


def test_compiled_sums_have_the_bits_of_their_source():
    """Copies of a function in several callers are optimised apart, so no optimisation may change a value."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.normal(size=(2, 1001))
        total = 0.0
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            total += x * y
        assert dot(a, b) == total  # not several sums side by side
        assert fused(a, b).tobytes() == (a * b + a).tobytes()  # rounded after the product


@_jit.jit
def dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_jit.jit
def fused(a, b):
    out = np.empty(len(a))
    for i in range(len(a)):
        out[i] = a[i] * b[i] + a[i]
    return out

"""Files are written whole or not at all."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from maxmargin._base.archive import replacing


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def test_new_and_replaced(tmp_path):
    path = tmp_path / "model.mm"
    for content in (b"first", b"second, and longer", b""):
        write(path, content)
        assert path.read_bytes() == content
    write(str(path), b"a string will do")
    assert path.read_bytes() == b"a string will do"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), SystemExit(1)])
def test_a_failure_while_writing_leaves_the_old_file_alone(tmp_path, error):
    path = tmp_path / "model.mm"
    write(path, b"old")
    with pytest.raises(type(error)), replacing(path) as file:
        file.write(b"half of the new")
        raise error
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_of_the_system_leaves_the_old_file_alone(tmp_path, monkeypatch, step):
    path = tmp_path / "model.mm"
    write(path, b"old")

    def fails(*args):
        raise OSError("no more")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="no more"):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("moment", ["write", "replace"])
def test_a_killed_process_leaves_the_old_file(tmp_path, moment):
    path = tmp_path / "model.mm"
    write(path, b"old")
    code = (
        "import os, signal, sys\n"
        "from maxmargin._base.archive import replacing\n"
        "kill = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if sys.argv[2] == 'replace': os.replace = kill\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'new' * 100000)\n"
        "    if sys.argv[2] == 'write': kill()\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path), moment], check=False, capture_output=True)
    assert out.returncode == -signal.SIGKILL, out.stderr
    assert path.read_bytes() == b"old"
    left = [other.name for other in tmp_path.iterdir() if other != path]
    assert all(name.startswith(".") and name.endswith(".part") for name in left)


def test_it_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    calls = []
    for step in ("fsync", "replace"):
        original = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *args, s=step, f=original: (calls.append(s), f(*args)))
    write(tmp_path / "model.mm", b"new")
    assert calls[:2] == ["fsync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    path, other = tmp_path / "model.mm", tmp_path / "other"
    write(path, b"new")
    other.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    path.chmod(0o640)
    write(path, b"newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "deep").mkdir()
    path, link = tmp_path / "deep" / "model.mm", tmp_path / "latest.mm"
    link.symlink_to(path)
    write(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_where_no_file_can_be(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"lost.model\.mm cannot be written: .*lost is not a directory"):
        write(tmp_path / "lost" / "model.mm", b"new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="folder cannot be written: it exists and is not a regular file"):
        write(tmp_path / "folder", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    if os.path.exists(os.devnull) and os.name == "posix":
        with pytest.raises(ValueError, match="not a regular file"):
            write(os.devnull, b"new")


def test_long_names(tmp_path):
    path = tmp_path / ("ü" * 120)
    write(path, b"new")
    assert path.read_bytes() == b"new"

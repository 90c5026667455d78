"""Standard streams that are closed, full or broken end a command with a message or silently, never with a traceback."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("typer")

import maxmargin as mm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="uses a shell")]

X = [[("Ana", "NP"), ("sings", "V")], [("in", "P"), ("Oslo", "NP")]] * 4
Y = [["B-PER", "O"], ["O", "B-LOC"]] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams")
    mm.ColumnTagger(label_column=-1).fit(X, Y).save(path / "m.mm")
    (path / "data").write_text("Ana NP B-PER\nsings V O\n\n" * 5000)
    return path


def shell(folder, command):
    program = f"{sys.executable} -W error -m maxmargin"
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; maxmargin() {{ {program} "$@"; }}; {command}'],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


COMMANDS = ["predict m.mm data", "evaluate m.mm data", "inspect m.mm --json"]


@pytest.mark.parametrize("command", COMMANDS)
def test_closed_output(folder, command):
    out = shell(folder, f"maxmargin {command} >&-")
    assert (out.returncode, out.stderr) == (1, "maxmargin: standard output: it is closed\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_gone(folder, command):
    out = shell(folder, f"maxmargin {command} | true")
    assert out.returncode in (0, 1)
    assert out.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk(folder):
    out = shell(folder, "maxmargin predict m.mm data > /dev/full")
    assert (out.returncode, out.stderr) == (1, "maxmargin: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("command", ["--help >&-", "--version | true", "fit tagger --help | true"])
def test_help(folder, command):
    out = shell(folder, f"maxmargin {command}")
    assert out.returncode in (0, 1)
    assert out.stderr == ""


def test_closed_input_and_messages(folder):
    out = shell(folder, "maxmargin predict m.mm - <&-")
    assert (out.returncode, out.stderr) == (1, "maxmargin: standard input: it is closed\n")
    out = shell(folder, "maxmargin fit tagger data -o other.mm --max-seconds 5 2>&- >&-")
    assert (out.returncode, out.stderr) == (0, "")
    assert mm.load(folder / "other.mm").classes_.tolist() == ["B-PER", "O"]
    out = shell(folder, "maxmargin predict nothing.mm data 2>&-")
    assert (out.returncode, out.stdout, out.stderr) == (1, "", "")

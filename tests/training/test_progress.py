"""Progress if it is asked for: a line on a terminal, plain lines elsewhere."""

import io
import logging
import re
import sys

import pytest

import maxmargin as mm
from maxmargin.core.certificate import Certificate
from maxmargin.training import run


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def data():
    return mm.datasets.make_chains(30, random_state=0)


@pytest.mark.parametrize("without_rich", [False, True])
def test_line_on_a_terminal(data, monkeypatch, without_rich):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    if without_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    model = mm.SequenceTagger(verbose=1).fit(*data)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())  # rich colours numbers
    last = f"step {model.n_iter_}  gap {model.certificate_.gap:.2e} (stop at 1e-02)  objective "
    assert (f"\r{last}" if without_rich else last) in plain


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_silence(data, monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    mm.SequenceTagger(verbose=0).fit(*data)
    assert stream.getvalue() == ""


def test_a_short_fit_prints_its_last_step_to_a_log(data, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    model = mm.SequenceTagger(verbose=1).fit(*data)
    assert re.fullmatch(rf"maxmargin: step {model.n_iter_}  gap [^\n]*\n", stream.getvalue())
    assert "\r" not in stream.getvalue() and "inf" not in stream.getvalue()


def test_lines_of_a_log_become_rare(monkeypatch):
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(run, "monotonic", lambda: now[0])
    with run.ProgressLine(1, 1e-3) as line:
        for second in range(300):
            now[0] = float(second)
            line.update(second, Certificate(2.0, 1.0, second, float(second)))
    steps = [int(step) for step in re.findall(r"step (\d+)", stream.getvalue())]
    assert steps == [1, 3, 7, 15, 31, *range(61, 300, 30), 299]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_no_line_has_an_infinite_number(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with run.ProgressLine(1, 1e-3) as line:
        line.update(1, Certificate(float("inf"), 0.0, 12, 0.5))
    assert "step 1  12 argmaxes  0.5 s" in stream.getvalue()


def test_no_standard_error(data, monkeypatch):
    """Programs without a console have none."""
    monkeypatch.setattr(sys, "stderr", None)
    assert mm.SequenceTagger(verbose=1).fit(*data).stop_reason_ == "tol"


def test_every_step_is_logged(data, caplog):
    with caplog.at_level(logging.INFO, logger="maxmargin"):
        model = mm.SequenceTagger().fit(*data)
    assert len(caplog.records) == model.n_iter_
    assert "gap" in caplog.text

"""The progress line: on a terminal and asked for, else silent."""

import io
import logging
import sys

import pytest

import maxmargin as mm


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
    assert "gap" in stream.getvalue()
    assert f"step {model.n_iter_}" in stream.getvalue() or not without_rich


@pytest.mark.parametrize(("verbose", "stream"), [(1, io.StringIO()), (0, Terminal())])
def test_silence(data, monkeypatch, verbose, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    mm.SequenceTagger(verbose=verbose).fit(*data)
    assert stream.getvalue() == ""


def test_every_step_is_logged(data, caplog):
    with caplog.at_level(logging.INFO, logger="maxmargin"):
        model = mm.SequenceTagger().fit(*data)
    assert len(caplog.records) == model.n_iter_
    assert "gap" in caplog.text

"""The history of `make bench-quick`: its lines, and the table of a run beside the run before it."""

import json

from benchmarks import quick

EARLIER = {"ratios": {"a": {"by": "unit", "ratio": 2.0, "spread": 0.1}}}
RUN = {
    "ratios": {"a": {"by": "unit", "ratio": 1.0, "spread": 0.1}, "b": {"by": "other", "ratio": 3.0}},
    "seconds": 5, "commit": "abc", "processor": "P",
}  # fmt: skip


def test_a_run_beside_the_run_before_it():
    rows = quick.shown(RUN, EARLIER).splitlines()
    assert rows[2] == "| a | unit | 1 | 0.1 | 2 | -50 % |"
    assert rows[3] == "| b | other | 3 | – | – | – |"
    assert rows[-1] == "5 s, commit abc, P"
    assert "%" not in quick.shown(RUN, None)


def test_the_history_is_one_line_for_each_run(tmp_path):
    path = tmp_path / "history.jsonl"
    assert quick.lines(path) == []
    path.write_text(json.dumps(EARLIER) + "\n" + json.dumps(RUN) + "\n", encoding="utf-8")
    assert quick.lines(path) == [EARLIER, RUN]


def test_the_committed_history_is_complete():
    for run in quick.lines():
        assert {"date", "commit", "version", "processor", "seconds", "ratios"} <= run.keys()
        assert all(one["ratio"] > 0.0 and one["by"] for one in run["ratios"].values())


def test_a_ratio_is_positive_and_has_a_spread():
    value, spread = quick.ratio(lambda: sum(range(20_000)), lambda: sum(range(20_000)))
    assert value > 0.0 and spread >= 0.0

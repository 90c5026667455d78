"""Shared by all tests: a hypothesis profile that repeats, and no display."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MAXMARGIN_QUIET", "1")  # a cold cache must not change what tests read on standard error
os.environ.setdefault("MAXMARGIN_COMPILE_PROCESSES", "1")  # tests run in as many processes as there are cores

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.helpers")  # so that a failure in a helper shows the values compared

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("repeatable")


#: Cases of a parametrised test that `--quick` keeps, evenly spaced from the first to the last.
FEW = 3


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help=f"run at most {FEW} cases of each test, and no slow test")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("quick"):
        return
    tests = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {cases[k * (len(cases) - 1) // (FEW - 1)] for cases in tests.values() for k in range(FEW)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]

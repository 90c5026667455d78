"""Shared by all tests: a hypothesis profile that repeats, and no display."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MAXMARGIN_QUIET", "1")  # a cold cache must not change what tests read on standard error

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("repeatable")

"""Position of the user's code on the call stack, for warnings."""

from __future__ import annotations

import sys


def callers_level() -> int:
    """Return the stack level, from the caller on, of the first frame outside this library and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("maxmargin", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level

"""Memory is planned before work starts."""

from __future__ import annotations

import os
import warnings

#: Above this share of what is free the plan is told; above all of it the fit is refused.
TOLD_SHARE = 0.5


def available_bytes() -> float:
    """Memory that is free now; infinite where the system does not tell."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(planned: float, what: str) -> None:
    """Warn when a plan takes much of the memory that is free; refuse it when there is not enough."""
    free = available_bytes()
    sentence = f"{what} needs about {planned / 1e9:.3g} GB of memory, {free / 1e9:.3g} GB are free"
    if planned > free:
        raise MemoryError(f"{sentence}; use fewer features (or labels), or sparse ones")
    if planned > TOLD_SHARE * free:
        warnings.warn(sentence, UserWarning, stacklevel=3)

"""Import of matplotlib, with an error that names the extra."""

from __future__ import annotations

from typing import Any

#: Colours that are distinct for all kinds of colour vision (Okabe and Ito).
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'maxmargin[plot]'") from None
    return plt

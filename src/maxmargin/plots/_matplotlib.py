"""Import of matplotlib, with an error that names the extra."""

from __future__ import annotations

from typing import Any

from maxmargin._base.extras import missing_package

#: Colours that are distinct for all kinds of colour vision (Okabe and Ito).
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_package("plots need", "matplotlib", "plot") from None
    return plt

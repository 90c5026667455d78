"""HTML representation of fitted estimators: scikit-learn's diagram, the certificate, its curve, the largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite, log10
from typing import Any

import numpy as np

#: Weights shown in notebooks.
TOP_WEIGHTS = 8
#: Most weights of which the largest are shown: the names of more would take too long.
_MOST_WEIGHTS = 1_000_000
#: Width and height of a picture, and the room for the numbers at its left and below it.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 300, 150, 62, 30
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"


class CertificateInNotebooks:
    """Mixin before `BaseEstimator` that adds the fitted model to the HTML of its parameters."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + fitted_html(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:  # None if scikit-learn is set to display text
            bundle["text/html"] += fitted_html(self)
        return bundle


def fitted_html(estimator: Any) -> str:
    """Return certificate, curve and largest weights of a fitted estimator; an empty string if it is not fitted."""
    certificate = certificate_html(estimator)
    return certificate and certificate + curve_html(estimator) + weights_html(estimator)


def weights_html(estimator: Any, top: int = TOP_WEIGHTS) -> str:
    """Return the weights of largest absolute value as an HTML table; an empty string if they have no names."""
    rows = largest_weights(estimator, top)
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{weight:+.4g}</td></tr>" for name, weight in rows)
    if not rows:
        return ""
    return f'<table class="maxmargin-weights"><caption>Largest weights</caption><tbody>{cells}</tbody></table>'


def largest_weights(estimator: Any, top: int) -> list[tuple[str, float]]:
    """Return name and value of the weights of largest absolute value; nothing if the estimator has no names."""
    try:
        w = np.asarray(estimator._flat_weights(), float)
        order = np.argsort(-np.abs(w), kind="stable")[:top]
        order = order[w[order] != 0.0]
        names = estimator._explained_names() if len(order) > 0 and len(w) <= _MOST_WEIGHTS else []
        return [(str(names[j]), float(w[j])) for j in order.tolist()] if len(names) else []
    except (AttributeError, TypeError, ValueError):  # a structure of the user without names
        return []


def curve_html(estimator: Any) -> str:
    """Return the curve of a fit as pictures (SVG): objective and lower bound, and the gap, by step.

    Fits of bounds that are not convex have the objective of each outer step alone.
    """
    rows = [row for row in getattr(estimator, "history_", None) or [] if isinstance(row, dict)]
    if len(rows) < 2:
        return ""
    if "primal" not in rows[0]:
        pictures = _picture("objective by outer step", {_BLUE: [row.get("objective", np.nan) for row in rows]})
    else:
        primal, dual = [row["primal"] for row in rows], [row["dual"] for row in rows]
        known = [p for p in primal if isfinite(p)]
        if len(known) < 2:
            return ""
        most = known[-1] + 4.0 * abs(known[-1] - min(dual[len(dual) // 2 :])) + 1e-12
        clipped = [min(p, most) for p in primal], [max(d, 2.0 * known[-1] - most) for d in dual]
        pictures = _picture("objective and lower bound by step", dict(zip((_BLUE, _ORANGE), clipped, strict=True)))
        pictures += _picture("relative gap by step", {_GREEN: [row["gap"] for row in rows]}, logarithmic=True)
    return f'<div class="maxmargin-curve">{pictures}</div>' if pictures else ""


def _picture(title: str, lines: dict[str, Sequence[float]], logarithmic: bool = False) -> str:
    """Return lines by colour over the numbers of steps as SVG; an empty string if there is nothing to draw."""
    places: dict[str, list[tuple[int, float]]] = {}
    for colour, values in lines.items():
        shown = [(n, log10(max(v, 1e-16)) if logarithmic else v) for n, v in enumerate(values, 1) if isfinite(v)]
        places[colour] = shown[:: max(len(shown) // 400, 1)]
    heights = [v for line in places.values() for _, v in line]
    if len(heights) < 2:
        return ""
    low, high, last = min(heights), max(heights), max(n for line in places.values() for n, _ in line)
    room = max(high - low, 1e-12)

    def place(n: int, v: float) -> str:
        x = _LEFT + (_WIDTH - _LEFT - 8) * (n - 1) / max(last - 1, 1)
        return f"{x:.1f},{22 + (_HEIGHT - 22 - _BELOW) * (high - v) / room:.1f}"

    def number(v: float) -> str:
        return f"{10**v:.1e}" if logarithmic else f"{v:.4g}"

    drawn = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{" ".join(place(*p) for p in line)}"/>'
        for colour, line in places.items()
    )
    bottom = _HEIGHT - _BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDTH}" height="{_HEIGHT}" font-size="11" '
        f'font-family="sans-serif" fill="currentColor"><title>{escape(title)}</title>'
        f'<text x="{_LEFT}" y="12">{escape(title)}</text>'
        f'<path d="M{_LEFT} 18V{bottom}H{_WIDTH - 8}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>{drawn}'
        f'<text x="{_LEFT - 5}" y="26" text-anchor="end">{number(high)}</text>'
        f'<text x="{_LEFT - 5}" y="{bottom}" text-anchor="end">{number(low)}</text>'
        f'<text x="{_LEFT}" y="{bottom + 16}">1</text>'
        f'<text x="{_WIDTH - 8}" y="{bottom + 16}" text-anchor="end">{last}</text></svg>'
    )


def certificate_html(estimator: Any) -> str:
    """Return the certificate of an estimator as an HTML table; an empty string if it has none."""
    certificate = getattr(estimator, "certificate_", None)
    if certificate is None:
        return ""
    rows = [*_facts(certificate), ("stopped by", str(getattr(estimator, "stop_reason_", "")))]
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows if value)
    return f'<table class="maxmargin-certificate"><caption>Certificate</caption><tbody>{cells}</tbody></table>'


def _facts(certificate: Any) -> list[tuple[str, str]]:
    upper = f"{certificate.primal_bound:.6g}" if isfinite(certificate.primal_bound) and not certificate.exact else ""
    about = f"the last convex problem, {certificate.end}" if certificate.outer_steps else ""
    return [
        ("about", about),
        ("objective", f"{certificate.primal:.6g}"),
        ("proven upper bound", upper),
        ("lower bound", f"{certificate.dual:.6g}"),
        ("relative gap", f"{certificate.gap:.2g} ({certificate.standing})"),
        ("argmaxes", f"{certificate.oracle_calls:,}"),
        ("seconds", f"{certificate.seconds:.3g}"),
    ]

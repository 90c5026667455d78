"""HTML representation of fitted estimators: scikit-learn's diagram and the certificate."""

from __future__ import annotations

from html import escape
from math import isfinite
from typing import Any


class CertificateInNotebooks:
    """Mixin before `BaseEstimator` that adds the certificate of a fitted estimator to its HTML."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + certificate_html(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:  # None if scikit-learn is set to display text
            bundle["text/html"] += certificate_html(self)
        return bundle


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

"""In notebooks a fitted estimator shows its certificate below scikit-learn's diagram."""

from __future__ import annotations

import pytest
import sklearn
from sklearn.base import BaseEstimator

import maxmargin as mm
from maxmargin.core.certificate import Certificate
from maxmargin.estimators.html import certificate_html


@pytest.fixture(scope="module")
def fitted():
    X, Y = mm.datasets.make_chains(10)
    return mm.SequenceTagger(n_jobs=1).fit(X, Y)


def shown(estimator):
    """The HTML by both ways in which front ends ask, which must agree but for the numbers of scikit-learn's ids."""
    bundle, inner = estimator._repr_mimebundle_()["text/html"], estimator._repr_html_()
    assert bundle.count("Certificate") == inner.count("Certificate")
    return bundle


def test_a_fitted_estimator_shows_its_certificate_below_the_diagram(fitted):
    html, certificate = shown(fitted), fitted.certificate_
    diagram, table = html.split('<table class="maxmargin-certificate">')
    assert "SequenceTagger" in diagram
    for name, value in (
        ("objective", f"{certificate.primal:.6g}"),
        ("lower bound", f"{certificate.dual:.6g}"),
        ("relative gap", f"{certificate.gap:.2g} (proven)"),
        ("argmaxes", f"{certificate.oracle_calls:,}"),
        ("seconds", f"{certificate.seconds:.3g}"),
        ("stopped by", fitted.stop_reason_),
    ):
        assert f"<tr><th>{name}</th><td>{value}</td></tr>" in table


def test_an_unfitted_estimator_shows_as_ever():
    assert "Certificate" not in shown(mm.SequenceTagger())
    assert certificate_html(mm.SequenceTagger()) == ""


def test_a_loaded_model_shows_its_certificate(fitted, tmp_path):
    fitted.save(tmp_path / "model.mm")
    assert certificate_html(mm.load(tmp_path / "model.mm")) == certificate_html(fitted)


def test_no_html_where_scikit_learn_is_set_to_text(fitted):
    with sklearn.config_context(display="text"):
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
        assert not hasattr(fitted, "_repr_html_")


def test_an_estimate_is_not_called_proven_and_text_is_escaped():
    class Other(BaseEstimator):
        certificate_ = Certificate(2.0, 1.0, 12345, 0.5, exact=False, primal_bound=2.5)
        stop_reason_ = "<b>&"

    html = certificate_html(Other())
    assert "0.5 (estimated: the argmax is not exact)" in html
    assert "<th>proven upper bound</th><td>2.5</td>" in html and "12,345" in html
    assert "&lt;b&gt;&amp;" in html and "<b>" not in html

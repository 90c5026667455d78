"""In notebooks a fitted estimator shows its certificate below scikit-learn's diagram."""

from __future__ import annotations

import pytest
import sklearn
from sklearn.base import BaseEstimator

import maxmargin as mm
from maxmargin.core.certificate import Certificate
from maxmargin.estimators.html import certificate_html, curve_html, largest_weights, weights_html


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
    assert table.index("maxmargin-curve") < table.index("maxmargin-weights")
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


def test_the_curve_ends_at_the_last_step(fitted):
    html = curve_html(fitted)
    assert html.count("<svg") == 2 and html.count("<polyline") == 3
    assert f">{len(fitted.history_)}</text>" in html
    assert "objective and lower bound by step" in html and "relative gap by step" in html
    assert "nan" not in html and "inf" not in html


def test_the_curve_of_a_ramp_is_its_objective():
    X, Y = mm.datasets.make_chains(30, random_state=1)
    model = mm.SequenceTagger(bound="ramp", n_jobs=1).fit(X, Y)
    html = curve_html(model)
    assert html.count("<polyline") == (1 if len(model.history_) > 1 else 0)


def test_no_curve_of_a_fit_of_one_step():
    class Other(BaseEstimator):
        history_ = ({"primal": 1.0, "dual": 0.5, "gap": 0.5},)

    assert curve_html(Other()) == ""


def test_the_largest_weights_are_shown_with_their_names(fitted):
    rows = largest_weights(fitted, 5)
    frame = fitted.weights_frame()
    assert [abs(weight) for _, weight in rows] == frame["weight"].abs().head(5).tolist()
    assert [name for name, _ in rows] == [
        str(fitted.feature_names_out[j]) for j in abs(fitted.coef_).argsort(kind="stable")[::-1][:5]
    ] or len({abs(weight) for _, weight in rows}) < 5
    assert weights_html(fitted, 5).count("<tr>") == 5


def test_a_structure_without_names_has_no_table():
    X, Y = mm.datasets.toy.signs()
    model = mm.StructuralSVM(mm.datasets.toy.Sign(), n_jobs=1).fit(X, Y)
    assert weights_html(model).count("<tr>") in (0, 8)
    assert weights_html(BaseEstimator()) == ""

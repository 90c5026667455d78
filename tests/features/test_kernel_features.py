"""Features of kernels: their inner products are kernel values, and their expansions give the same scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from maxmargin.features.mercer import gram as gram_module
from maxmargin.features.mercer.distinct_rows import distinct_rows
from maxmargin.features.mercer.function import scale_of
from maxmargin.features.mercer.gram import factor
from maxmargin.features.mercer.kernel import PartKernel, features_from_state

GAMMA, COEF0 = 0.3, 0.7


def rows_of(seed, form, n=40, width=4):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.7)
    dense[n // 2] = dense[0]
    return dense, {"dense": dense, "csr": sp.csr_array(dense), "coo": sp.coo_array(dense)}[form]


def plain(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def offsets_of(rows, lengths=(3, 0, 7)):
    return np.concatenate([[0], np.cumsum([*lengths, rows.shape[0] - sum(lengths)])])


def own_kernel(a, b):
    return polynomial_kernel(a, b, degree=2, gamma=GAMMA, coef0=COEF0)


EXACT = {
    "rbf": (PartKernel("rbf", gamma=GAMMA), lambda a, b: rbf_kernel(a, b, gamma=GAMMA)),
    "poly 3": (PartKernel("poly", gamma=GAMMA, coef0=COEF0), lambda a, b: polynomial_kernel(a, b, 3, GAMMA, COEF0)),
    "poly 2": (PartKernel("poly", degree=2, gamma=GAMMA, coef0=COEF0), own_kernel),
    "homogeneous": (PartKernel("poly", degree=2, gamma=GAMMA), lambda a, b: polynomial_kernel(a, b, 2, GAMMA, 0.0)),
    "expansion": (PartKernel("poly", degree=2, gamma=GAMMA, coef0=COEF0, method="expansion"), own_kernel),
    "expansion, homogeneous": (
        PartKernel("poly", degree=2, gamma=GAMMA, method="expansion"),
        lambda a, b: polynomial_kernel(a, b, 2, GAMMA, 0.0),
    ),
    "callable": (PartKernel(own_kernel), own_kernel),
}


@pytest.mark.parametrize("form", ["dense", "csr", "coo"])
@pytest.mark.parametrize("name", EXACT)
def test_inner_products_are_kernel_values(name, form):
    kernel, values = EXACT[name]
    kernel.check()
    dense, rows = rows_of(0, form)
    found, features = kernel.fit(rows, offsets_of(rows), "token")
    found = plain(found)
    assert np.allclose(found @ found.T, values(dense, dense), atol=1e-10)
    assert found.shape == (len(dense), features.width)
    assert np.allclose(plain(features.transform(rows)), found, atol=1e-8)
    new, sparse = rows_of(1, form, n=9)
    # new rows may have directions that no training row has; those have no weight
    assert np.allclose(plain(features.transform(sparse)) @ found.T, values(new, dense), atol=1e-7)


@pytest.mark.parametrize("name", EXACT)
def test_expansions_score_as_the_features_do(name):
    kernel, _ = EXACT[name]
    _, rows = rows_of(2, "csr")
    found, features = kernel.fit(rows, offsets_of(rows), "token")
    rng = np.random.default_rng(3)
    weights = plain(found).T @ (rng.normal(size=(40, 3)) * (rng.random((40, 1)) < 0.3))
    expanded, beta = features.expanded(weights)
    assert beta.shape == (expanded.width, 3)
    new = rows_of(4, "csr", n=11)[1]
    assert np.allclose(plain(expanded.transform(new)) @ beta, plain(features.transform(new)) @ weights, atol=1e-8)
    restored = features_from_state(expanded.get_state())
    assert (plain(restored.transform(new)) == plain(expanded.transform(new))).all()
    assert len(expanded.names(list("abcd"))) == expanded.width


def test_only_parts_with_coefficients_are_kept():
    dense, rows = rows_of(5, "dense", n=60)
    found, features = PartKernel("rbf", gamma=2.0).fit(rows, np.arange(61), "")
    few = np.zeros(60)
    few[[7, 9]] = [1.0, -2.0]
    expanded, beta = features.expanded((found.T @ few)[:, None])
    assert expanded.names([]) == ["rbf(X[7])", "rbf(X[9])"]
    assert np.allclose(beta.ravel(), [1.0, -2.0], atol=1e-8)
    assert np.allclose(expanded.points, dense[[7, 9]])


def test_products_have_names():
    _, features = PartKernel("poly", degree=2, gamma=1.0, coef0=1.0, method="expansion").fit(
        np.array([[1.0, 2.0]]), np.arange(2), "row"
    )
    assert features.names(["a", "b"]) == ["a²", "a × b", "a", "b²", "b", "1"]


def test_points_are_named_by_their_places_in_the_data():
    rows = np.array([[0.0], [1.0], [0.0], [5.0]])
    _, features = PartKernel("rbf").fit(rows, np.array([0, 1, 4]), "token")
    expanded, _ = features.expanded(np.ones((3, 1)))
    assert expanded.names([]) == ["rbf(X[0], token 0)", "rbf(X[1], token 0)", "rbf(X[1], token 2)"]
    assert expanded.moved(np.array([4, 8])).names([])[1] == "rbf(X[8], token 0)"


def test_scale_is_that_of_scikit_learn():
    dense, rows = rows_of(6, "csr")
    assert scale_of("scale", rows) == pytest.approx(1 / (4 * dense.var()), rel=1e-12)
    assert scale_of("scale", dense) == pytest.approx(1 / (4 * dense.var()), rel=1e-12)
    assert scale_of("auto", dense) == 0.25
    assert scale_of("scale", np.ones((3, 2))) == 1.0
    assert scale_of(2, dense) == 2.0


def test_equal_rows_are_found_once():
    first, group = distinct_rows(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]))
    assert first.tolist() == [0, 1] and group.tolist() == [0, 1, 0]


def test_a_factor_of_low_rank_has_few_columns():
    rng = np.random.default_rng(0)
    low = rng.normal(size=(50, 4))
    rows, pivots = factor(low @ low.T)
    assert rows.shape == (50, 4) and len(set(pivots.tolist())) == 4
    assert np.allclose(rows @ rows.T, low @ low.T, atol=1e-10)
    assert np.allclose(np.triu(rows[pivots], 1), 0.0)
    assert factor(np.zeros((3, 3)))[0].shape == (3, 0)
    assert factor(np.zeros((0, 0)))[0].shape == (0, 0)


# ---------------------------------------------------------------------- landmarks


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_landmarks_approximate_the_kernel_from_below(form):
    dense, rows = rows_of(7, form, n=200, width=2)
    values = rbf_kernel(dense, gamma=0.2)
    kernel = PartKernel("rbf", gamma=0.2, n_components=40, method="k-means")
    found, features = kernel.fit(rows, offsets_of(rows), "token")
    assert features.n_points <= 40
    rest = values - found @ found.T
    assert np.linalg.eigvalsh(rest)[0] > -1e-6
    assert features.lost == pytest.approx(np.trace(rest) / np.trace(values), abs=1e-9)
    assert features.lost < 0.01
    again, _ = kernel.fit(rows, offsets_of(rows), "token")
    assert (again == found).all()
    expanded, beta = features.expanded(np.eye(features.width))
    assert np.allclose(expanded.transform(rows) @ beta, found, atol=1e-6)


def test_a_loss_of_the_trace_is_a_warning_with_its_share():
    _, rows = rows_of(8, "dense", n=200)
    with pytest.warns(UserWarning, match=r"5 landmarks of 198 distinct tokens lose \d+\.\d % of the trace"):
        _, features = PartKernel("rbf", gamma=2.0, n_components=5).fit(rows, offsets_of(rows), "token")
    assert features.lost > 0.5


def test_as_many_landmarks_as_parts_are_exact():
    _, rows = rows_of(8, "dense")
    found, _ = PartKernel("rbf", n_components=100).fit(rows, offsets_of(rows), "token")
    exact, _ = PartKernel("rbf").fit(rows, offsets_of(rows), "token")
    assert (found == exact).all()


# ---------------------------------------------------------------------- precomputed


def test_precomputed_rows_are_kernel_values():
    dense, _ = rows_of(10, "dense")
    values = rbf_kernel(dense, gamma=GAMMA)
    found, features = PartKernel("precomputed").fit(values, np.arange(41), "")
    assert np.allclose(found @ found.T, values, atol=1e-10)
    new = rbf_kernel(rows_of(11, "dense", n=5)[0], dense, gamma=GAMMA)
    expanded, beta = features.expanded(np.ones((features.width, 1)))
    assert np.allclose(
        expanded.transform(new) @ beta, features.transform(new) @ np.ones((features.width, 1)), atol=1e-6
    )
    assert features_from_state(expanded.get_state()).n_inputs == 40


def test_rows_of_zeros_are_parts_without_features():
    values = rbf_kernel(rows_of(12, "dense")[0], gamma=GAMMA)
    masked = values.copy()
    masked[3] = 0.0
    found, _ = PartKernel("precomputed").fit(masked, np.arange(41), "")
    others = np.delete(np.arange(40), 3)
    assert not found[3].any()
    assert np.allclose((found @ found.T)[np.ix_(others, others)], values[np.ix_(others, others)], atol=1e-10)


def test_precomputed_landmarks():
    values = rbf_kernel(rows_of(13, "dense", n=80, width=2)[0], gamma=0.1)
    found, features = PartKernel("precomputed", n_components=30).fit(values, np.arange(81), "")
    assert features.n_points <= 30
    assert np.abs(found @ found.T - values).max() < 0.1


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be 'linear', 'poly', 'rbf', 'precomputed', a function"),
        ({"kernel": None}, "kernel must be"),
        ({"degree": 2.5}, "degree must be an integer"),
        ({"degree": 0}, "degree must be an integer ≥ 1"),
        ({"gamma": "size"}, "gamma must be 'scale', 'auto' or a number > 0"),
        ({"gamma": 0.0}, "gamma must be a number > 0"),
        ({"gamma": np.inf}, "gamma must be"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 of kernel 'poly'"),
        ({"coef0": np.nan}, "coef0 must be"),
        ({"n_components": 0}, "n_components must be an integer ≥ 1"),
        ({"method": "fast"}, "method must be"),
        ({"method": "sketch"}, "there is no method='sketch': fit with method='expansion' for degree 2"),
        ({"method": "leverage"}, "there is no method='leverage': fit with method='k-means'"),
        ({"method": "k-means"}, "needs n_components"),
        ({"method": "gram", "n_components": 3}, "takes no n_components"),
        ({"method": "expansion"}, "needs the kernel 'poly'"),
        ({"kernel": "poly", "method": "expansion"}, "needs degree=2, found 3"),
        ({"kernel": "precomputed", "method": "k-means", "n_components": 3}, "needs features of parts"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        PartKernel(**parameters).check()


def test_a_kernel_that_is_not_symmetric():
    with pytest.raises(ValueError, match=r"not symmetric: it is .* for X\[0\], token 0 with X\[0\], token 1"):
        PartKernel(lambda a, b: a @ b.T + np.arange(len(b))).fit(np.array([[1.0], [2.0]]), np.array([0, 2]), "token")


def test_equal_rows_of_a_matrix_that_is_not_symmetric():
    """Equal rows are one part; their columns may differ all the same."""
    values = np.array([[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 0.5, 3.0]])
    with pytest.raises(ValueError, match=r"not symmetric: it is 1 for X\[1\] with X\[2\], but 0.5"):
        PartKernel("precomputed").fit(values, np.arange(4), "")
    with pytest.raises(ValueError, match=r"for X\[0\], token 1 with X\[1\], token 0"):
        PartKernel("precomputed", n_components=1).fit(values, np.array([0, 2, 3]), "token")


def test_distances_of_rows_far_from_zero():
    rows = np.random.default_rng(0).normal(size=(12, 3))
    found, features = PartKernel("rbf", gamma=0.5).fit(rows + 1e8, np.arange(13), "")
    assert np.allclose(found @ found.T, rbf_kernel(rows, gamma=0.5), atol=1e-6)
    assert np.allclose(features.transform(rows[:4] + 1e8) @ found.T, rbf_kernel(rows[:4], rows, gamma=0.5), atol=1e-6)


def test_a_kernel_with_a_negative_eigenvalue():
    rows = np.random.default_rng(0).normal(size=(150, 2))

    def distances(a, b):
        return ((a[:, None] - b[None]) ** 2).sum(axis=2)

    for some in (rows, rows[:5]):
        with pytest.raises(ValueError, match=r"not positive semi-definite: .* has the eigenvalue -"):
            PartKernel(distances).fit(some, np.arange(len(some) + 1), "")
    with pytest.raises(ValueError, match="not positive semi-definite"):
        PartKernel(distances, n_components=10).fit(rows, np.arange(151), "")
    with pytest.raises(ValueError, match="not positive semi-definite"):
        PartKernel("precomputed").fit(-np.eye(3), np.arange(4), "")


def test_tiny_negative_eigenvalues_are_rounding_errors():
    low = np.random.default_rng(0).normal(size=(30, 2))
    values = low @ low.T - 1e-10 * np.eye(30)
    found, _ = PartKernel("precomputed").fit(values, np.arange(31), "")
    assert np.allclose(found @ found.T, values, atol=1e-8)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: np.ones(3), "returned an array of shape"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "returned nan, expected finite numbers"),
        (lambda a, b: 1 / 0, "raised ZeroDivisionError"),
        (lambda a, b: "text", "raised ValueError"),
        (lambda a, b: a @ b.T * 1j, "returned complex numbers, expected real ones"),
    ],
)
def test_a_kernel_function_that_fails(function, message):
    with pytest.raises(ValueError, match=message):
        PartKernel(function).fit(np.eye(2), np.arange(3), "")


@pytest.mark.parametrize("kernel", [PartKernel("rbf", gamma=1.0), PartKernel("poly"), PartKernel("rbf")])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_features_whose_kernel_values_overflow(kernel, form):
    rows = np.array([[1e200, 1.0], [-1e200, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="not finite: scale the features"):
        kernel.fit(rows if form == "dense" else sp.csr_array(rows), np.arange(4), "")


def test_a_precomputed_matrix_must_be_square():
    with pytest.raises(ValueError, match=r"a row of 3 kernel values for each of the 3 tokens .* found 2 values"):
        PartKernel("precomputed").fit(np.ones((3, 2)), np.arange(4), "token")


def test_the_memory_limit_is_checked_before_work_starts(monkeypatch):
    monkeypatch.setattr(gram_module, "GRAM_BYTES", 8.0 * 30**2)

    def never(a, b):
        raise AssertionError

    rows = np.arange(31.0)[:, None]
    with pytest.raises(MemoryError, match=r"31 distinct tokens .* \(30 distinct tokens\): set n_components"):
        PartKernel(never).fit(rows, np.array([0, 31]), "token")
    PartKernel("rbf").fit(np.zeros((99, 1)), np.array([0, 99]), "token")  # only distinct parts count

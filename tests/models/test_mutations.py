"""Any value or array of a file exchanged for another: an error when it is loaded, or a model that can be used."""

import copy
import io
import json

import numpy as np
import pytest

import maxmargin as mm
from tests.helpers import fitted_models
from tests.helpers.model_files import change, members, npy, packed, places, refused

#: Values of other kinds than the one at a place, and values that are out of range.
OTHERS = [
    None, True, "x", "", [], {}, -1, 0, 1.5, 1_000_003, {"$float": "nan"}, {"$float": "inf"}, {"$tuple": [1]}, [None],
    ["x", "y"], [[1]], {"a": 1}, {"$bytes": "00"}, {"$dict": [[1, 2]]}, {"$set": [1]},
]  # fmt: skip
KINDS = ["float32", "int64", "int8", "bool", "U3", "S2", "complex128", "M8[s]", "uint64", ">f8", ">i4"]


def other_arrays(array):
    """Yield the array with other types, shapes and values."""
    for kind in KINDS:
        yield array.astype(kind) if array.dtype.kind not in "US" else np.zeros(array.shape, kind)
    yield from (array[None], array.reshape(-1, 1), array.ravel()[:0], np.zeros((), array.dtype), array[:-1])
    yield np.concatenate([array, array[-1:]])
    if array.dtype.kind in "iuf":
        values = (1_000_003, np.nan, -np.inf) if array.dtype.kind == "f" else (np.iinfo(array.dtype).max,)
        for value in values:
            changed = array.copy()
            changed.flat[-1:] = value
            yield changed
        if array.dtype.kind != "u":
            yield np.full_like(array, -1)


def mutations(contents):
    """Yield all changes of one value or one array, as the members of a file."""
    document = json.loads(contents["model.json"])
    for place in places(document):
        skipped = {"history_", "certificate_", "format", "version", "maxmargin", "needs", "learnt"} & set(place[:-1])
        for other in [] if skipped else [*OTHERS, "drop"]:
            changed = copy.deepcopy(document)
            node = changed
            for key in place[:-1]:
                node = node[key]
            if other == "drop":
                del node[place[-1]]
            else:
                node[place[-1]] = other
            yield (place, other), {**contents, "model.json": json.dumps(changed)}
    for member, content in contents.items():
        if member.endswith(".npy"):
            array = np.load(io.BytesIO(content))
            for number, other in enumerate(other_arrays(array) if array.ndim else ()):
                yield (member, number), {**contents, member: npy(other)}


#: Each model is tested with every so manieth change; run by hand with 1, all of them take about ten minutes.
EVERY = 41


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name for name in (*fitted_models.MODELS, *fitted_models.GIVEN) if name != "structure"]
)
def test_another_value_is_refused_or_harmless(name, tmp_path):
    """What cannot be used fails when it is loaded; the rest is another model, whose errors speak of inputs."""
    (model, X), given = fitted_models.model_of(name), fitted_models.GIVEN.get(name, (None, {}))[1]
    path = tmp_path / "model.mm"
    model.save(path, support=True)
    first, n_refused = sum(map(ord, name)) % EVERY, 0
    for number, (place, contents) in enumerate(mutations(members(path.read_bytes()))):
        if number % EVERY != first:
            continue
        path.write_bytes(packed(contents))
        try:
            loaded = mm.load(path, **given)
        except ValueError as error:
            assert str(error).startswith(f"{path} "), place
            n_refused += 1
            continue
        try:
            loaded.predict(X)
            list(loaded.feature_names_out)
            repr(loaded)
        except ValueError as error:  # a valid model of other inputs than these
            assert str(error).startswith(("X", "solve returned", "kernel")), (place, error)
    assert n_refused > 10


def edited(name, tmp_path, place, value):
    """Save a model with one value exchanged."""
    path = tmp_path / "model.mm"
    fitted_models.model_of(name)[0].save(path, support=True)

    def edit(document, contents):
        if isinstance(value, np.ndarray):
            contents[place] = npy(value)
            return
        node = document
        *parents, last = place.split(".")
        for key in parents:
            node = node[int(key) if isinstance(node, list) else key]
        node[int(last) if isinstance(node, list) else last] = value

    change(path, edit)
    return path


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("multiclass", "structure.state.parameters.fit_intercept", -1, "fit_intercept must be True or False"),
        ("multiclass", "structure.state", 7, "structure.state is an int, expected a dict"),
        ("multiclass", "structure.state.parameters", [], "structure.state.parameters is a list, expected a dict"),
        ("multiclass", "structure.state.learnt", None, "structure.state.learnt is a NoneType, expected a dict"),
        ("multiclass, poly", "structure.state.learnt.kernel.function.degree", "x", "degree must be an integer"),
        ("multiclass, rbf", "structure.state.learnt.kernel.function.gamma", None, "gamma must be a number > 0"),
        ("multiclass, rbf", "structure.state.learnt.n_features", 3.0, "number of features must be an integer"),
        ("columns", "structure.state.learnt.tokens.n_columns", 10**9, "1000000000 columns, but values of"),
        ("columns", "parameters.templates.fields.window", 10**9, "window must be an integer from 0 to 1000"),
        ("columns", "fitted.n_columns_in_", 2, "n_columns_in_ is 2, its structure has 1"),
        ("dependency", "structure.state.learnt.arcs_.columns.0", None, "columns of tags must be a list of distinct"),
        ("dependency", "structure.state.learnt.arcs_.columns.0", "x", "columns of tags must be of"),
        ("dependency, labelled", "fitted.relation_coef_", None, "relation_coef_ must be an array of float64"),
        ("dependency, labelled", "fitted.relation_structure_", "Chain", "must be a fitted Chain of columns"),
        ("dependency, labelled", "fitted.relation_coef.npy", np.zeros(3), "relation_coef_ must be an array of float64"),
        ("costs", "structure.state.parameters.optimizer.arguments.n", 3, "4 variables, but the optimizer has 6"),
        ("costs", "structure.learnt.encoders_0_.scales.npy", np.zeros(3), "scales of features must be numbers > 0"),
        ("costs", "structure.learnt.encoders_0_.means.npy", np.full(3, np.nan), "means must be .* with finite values"),
        ("costs", "structure.state.learnt.regret", 1, "regret must be True or False"),
        ("costs, milp", "parameters.optimizer.arguments.upper", -1, "infeasible: variable 0 must be at least 0 and at"),
        ("costs, milp", "parameters.optimizer.arguments.integer", 7, "integer must be True, False or 4 bools"),
        ("aligner", "structure.state.learnt.positions_.alphabet", None, "alphabet must be a string of 2 to 254"),
        ("clustering", "parameters.feature_names", 7, "feature_names must be a list of names, found 7"),
        ("clustering", "structure.state.parameters.fit_intercept", 2, "fit_intercept must be True or False"),
        ("cut", "weights.npy", np.full(5, -1.0), "a weight of edges is -1, but rewards of agreement must be ≥ 0"),
        ("measure", "fitted.threshold_", [], "threshold_ must be an array of float64 of shape"),
        ("measure", "structure.state.parameters.fit_intercept", 1, "fit_intercept must be True or False"),
        ("motif", "fitted.positions_", 1, "positions_ must be an array of int64"),
        ("multilabel", "structure.state.learnt.n_labels", 2.0, "n_labels must be an integer"),
        ("ranker", "fitted.n_features_in_", 5, "n_features_in_ is 5, its structure has 2"),
        ("ranker", "fitted.start_coef_", "x", "start_coef_ must be an array of float64"),
        ("constituency", "structure.learnt.rules_.kinds.npy", np.zeros(5, complex), "kinds of symbols must be an"),
        ("tree", "parameters.structure.$structure", "Cut", "has no .* parameter|unexpected keyword argument"),
    ],
)  # fmt: skip
def test_what_could_not_be_used_is_not_loaded(name, place, value, message, tmp_path):
    refused(edited(name, tmp_path, place, value), message)


def test_a_structure_of_another_estimator(tmp_path):
    chain, _ = fitted_models.model_of("tagger")
    rows, _ = fitted_models.model_of("multiclass")
    chain.save(tmp_path / "chain.mm")
    rows.save(tmp_path / "rows.mm")
    other = members((tmp_path / "chain.mm").read_bytes())
    document = json.loads(other["model.json"])

    def edit(found, contents):
        found["structure"], found["weights"] = document["structure"], document["weights"]
        contents.update({member: content for member, content in other.items() if member != "model.json"})

    change(tmp_path / "rows.mm", edit)
    refused(tmp_path / "rows.mm", "classes_ has shape|its structure is of type Chain, expected Multiclass")

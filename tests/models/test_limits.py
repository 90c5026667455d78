"""Numbers and sizes in model files: nothing infinite is loaded, and a small file cannot take much memory."""

import io
import json
import tracemalloc

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base import archive
from tests.helpers import fitted_models as zoo
from tests.helpers.model_files import change, members, npy, packed, refused

X, Y = mm.datasets.make_chains(10, random_state=0)


class Unit(mm.Structure):
    """The sign of a number."""

    size = 1

    def joint_feature(self, x, y):
        return np.array([x * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w[0] * x > 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((1, -1), key=lambda v: v * w[0] * x + scale * (v != y))


@pytest.fixture(scope="module")
def tagger():
    return mm.SequenceTagger().fit(X, Y)


@pytest.fixture
def path(tmp_path, tagger):
    """A good file of a tagger."""
    tagger.save(tmp_path / "model.mm", support=True)
    return tmp_path / "model.mm"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite(path, tmp_path, tagger, value):
    mm.MulticlassSVM().fit(np.eye(3), [0, 1, 2]).save(tmp_path / "multiclass.mm")
    for target in (path, tmp_path / "multiclass.mm"):
        weights = mm.load(target)._flat_weights().copy()
        weights[-1] = value
        change(target, lambda _, contents, w=weights: contents.update({"weights.npy": npy(w)}))
        refused(target, f"is damaged: weight {len(weights) - 1} is {value}, expected finite numbers")


@pytest.mark.parametrize("name", ["alphas", "values", "data"])
def test_support_that_is_not_finite(path, name):
    def edit(_, contents):
        array = np.load(io.BytesIO(contents[f"support.{name}.npy"])).copy()
        array[0] = np.nan
        contents[f"support.{name}.npy"] = npy(array)

    change(path, edit)
    refused(path, f"is damaged: support.{name}: value 0 is nan")


def test_weights_that_are_not_finite_are_not_saved(path):
    before, model = path.read_bytes(), mm.load(path)
    model.coef_[2] = np.nan
    with pytest.raises(ValueError, match="the model cannot be saved: weight 2 is nan, expected finite numbers"):
        model.save(path)
    assert path.read_bytes() == before


def bomb(unit, count):
    return f'{{"format":"maxmargin model","version":1,"more":[{",".join([unit] * count)}]}}'


@pytest.mark.parametrize("unit", ["[]", "{}", "[[]]", '{"a":{}}', '""', "1000", "0", "0.5", "null"])
def test_a_small_file_cannot_take_much_memory(path, monkeypatch, unit):
    """78 kB of compressed empty lists once took 1.7 GB."""
    contents = members(path.read_bytes())
    path.write_bytes(packed({**contents, "model.json": bomb(unit, 10_000_000 // (len(unit) + 1))}))
    assert path.stat().st_size < 100_000

    def never(*args, **kwargs):
        raise AssertionError("parsed")

    monkeypatch.setattr(json, "loads", never)
    refused(path, r"made to exhaust memory: model.json has \d+ bytes in the file and would take about \d+ MB")


@pytest.mark.parametrize("unit", ["[]", "{}", "[[]]", '{"a":{}}', '"a"', "1000", "0.5", '{"a":1.5,"b":"word"}'])
def test_the_estimate_of_parsing_is_an_upper_bound(unit):
    text = f"[{','.join([unit] * 20_000)}]".encode()
    tracemalloc.start()
    try:
        value = json.loads(text.decode())
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(value) == 20_000
    assert taken <= archive.parsed_bytes(text) <= 6 * taken + 1e6


@pytest.mark.slow
def test_parameters_that_compress_well_are_saved_so_that_they_can_be_loaded(tmp_path):
    model = mm.StructuralSVM(Unit()).fit([-1.0, 1.0], [-1, 1])
    model.structure_.table = [[]] * 1_000_000
    model.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm", classes=Unit).structure_.table == model.structure_.table


@pytest.mark.parametrize("content", [[0, 10**12, 1], [0, 2_000_000, 1], [10**12, 0, -1], [0, 10, 0], [0, 1.5, 1], [1]])
def test_ranges_that_would_fill_the_memory(path, content):
    change(path, lambda document, _: document["parameters"].update(classes={"$range": content}))
    refused(path, "is damaged")


def test_callbacks_are_not_in_files(path):
    change(path, lambda document, _: document["parameters"].update(callbacks=["print"]))
    refused(path, "is damaged: its callbacks is list, expected None")


def test_labels_must_be_listed(path):
    change(path, lambda document, _: document["structure"]["state"]["learnt"].update(labels={"$range": [0, 5, 1]}))
    refused(path, "labels must be a list of distinct values")


@pytest.mark.parametrize(
    ("width", "message"),
    [
        (900_000, "it has 2 weights, its structure 900000"),
        (10**9, "width is 1000000000, more than a file of its size can hold"),
        (-1, "integer"),
        (1e300, ""),
    ],
)
def test_a_number_of_features_that_the_weights_do_not_have(tmp_path, width, message):
    """The names of a thousand million features once took 7 GB before the weights were counted."""
    path = tmp_path / "tree.mm"
    mm.StructuralSVM(mm.Tree()).fit([np.ones((3, 3, 2))] * 2, [[0, 1], [2, 0]]).save(path)
    change(path, lambda document, _: document["structure"]["state"]["learnt"]["arcs_"].update(width=width))
    tracemalloc.start()
    try:
        refused(path, f"is damaged: .*{message}")
        assert tracemalloc.get_traced_memory()[1] < 1e7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("cut", "learnt.nodes_.width"),
        ("cut", "learnt.edges_.width"),
        ("multilabel", "learnt.n_features"),
        ("multilabel, alone", "learnt.n_labels"),
        ("folder", "parameters.max_loop"),
        ("columns", "parameters.templates.fields.shape"),
    ],
)
def test_sizes_that_no_array_has(model, place, tmp_path):
    """Each of these once took more than 6 GB before the weights were counted."""
    path = tmp_path / "model.mm"
    alone = mm.MultilabelSVM().fit(np.eye(4), np.eye(4, 2, dtype=int))
    (alone if model == "multilabel, alone" else zoo.model_of(model)[0]).save(path)

    def edit(document, _):
        node = document["structure" if document["structure"] else "parameters"]
        node = node["state"] if "state" in node else node["structure"]["state"]
        *parents, last = place.split(".")
        for key in parents:
            node = node[key]
        node[last] = 10**9

    change(path, edit)
    tracemalloc.start()
    try:
        refused(path, f"{place.rpartition('.')[2]} (is 1000000000, more than a file|must be True or False)")
        assert tracemalloc.get_traced_memory()[1] < 1e7
    finally:
        tracemalloc.stop()


def test_a_loss_of_forests_that_is_not_a_number(tmp_path):
    path = tmp_path / "forest.mm"
    mm.ForestClustering().fit([np.ones((3, 3, 1))] * 2, [[0, 0, 1], [0, 1, 1]]).save(path)
    change(path, lambda document, _: document["structure"]["state"]["parameters"].update(r="x"))
    refused(path, "r must be a number ≥ 0, found 'x'")

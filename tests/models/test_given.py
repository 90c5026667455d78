"""A file never chooses what is called: functions and classes are given by whoever loads it."""

import contextlib
import functools
import io
import json
import os
import pickle
import sys
import types

import numpy as np
import pytest

import maxmargin as mm
from tests.helpers import fitted_models
from tests.helpers.model_files import change, members, npy, packed, places, refused
from tests.helpers.same_models import assert_alike

# ---------------------------------------------------------------------- what is given


@pytest.mark.parametrize("name", fitted_models.GIVEN)
def test_functions_and_classes_are_given_back(name, tmp_path):
    (model, X), given = fitted_models.model_of(name), fitted_models.GIVEN[name][1]
    path = tmp_path / "model.mm"
    model.save(path, support=True)
    loaded = mm.load(path, **given)
    assert type(loaded) is type(model)
    assert_alike(loaded.predict(X), model.predict(X))
    assert_alike(loaded.coef_, model.coef_)
    loaded.save(tmp_path / "again.mm", support=True)
    assert (tmp_path / "again.mm").read_bytes() == path.read_bytes()
    message = refused(path, "a file never chooses what is called, so pass your own in Python: maxmargin.load")
    for function in given.get("functions", {}):
        assert f"the function {function!r} (" in message and f"{function!r}: …" in message
    for kind in np.atleast_1d(given.get("classes", [])):
        assert f"the class {kind.__qualname__} (" in message and f"classes=[{kind.__qualname__}]" in message


def learner(solve, path, **options):
    model = mm.CostLearner(mm.Optimizer(solve, 4, **options)).fit(fitted_models.ROWS, costs=fitted_models.COSTS)
    model.save(path)
    return model


class Solver:
    """An object that is called, and one with a method."""

    def __call__(self, costs):
        return fitted_models.cheapest(costs)

    def solve(self, costs):
        return fitted_models.cheapest(costs)


@pytest.mark.parametrize(
    ("solve", "saved"),
    [
        (lambda costs: fitted_models.cheapest(costs), r"test_given.<lambda>"),
        (functools.partial(fitted_models.cheapest), "an instance of partial"),
        (Solver(), "an instance of Solver"),
        (Solver().solve, r"test_given.Solver.solve"),
    ],
    ids=["lambda", "partial", "object", "method"],
)
def test_any_function_can_be_saved(solve, saved, tmp_path):
    model = learner(solve, tmp_path / "model.mm")
    refused(tmp_path / "model.mm", rf"needs the function 'solve' \(.*{saved} when it was saved\)")
    loaded = mm.load(tmp_path / "model.mm", functions={"solve": fitted_models.cheapest})
    np.testing.assert_array_equal(loaded.predict(fitted_models.ROWS), model.predict(fitted_models.ROWS))
    assert loaded.structure_.optimizer.function is loaded.optimizer.function is fitted_models.cheapest


def test_functions_of_one_name_get_longer_ones(tmp_path):
    structure = fitted_models.Signs(0.5)
    structure.first, structure.second = {"f": abs}, {"f": np.cbrt}
    model = mm.StructuralSVM(structure).fit([0.0, 1.0, 2.0, -1.0], [-1, 1, 1, -1])
    model.save(tmp_path / "model.mm")
    given = {"classes": fitted_models.Signs, "functions": {"f": abs, "second.f": np.cbrt}}
    loaded = mm.load(tmp_path / "model.mm", **given).structure
    assert (loaded.first, loaded.second) == (structure.first, structure.second)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([fitted_models.cheapest], TypeError, "functions must be a dict from names to functions, found"),
        ({"solve": "pickle._loads"}, TypeError, r"functions\['solve'\] must be a function, found 'pickle._loads'"),
        ({1: fitted_models.cheapest}, TypeError, r"functions\[1\] must be a function"),
        ({"slove": fitted_models.cheapest}, ValueError, r"needs the function 'solve' .*functions=\{'solve': …\}"),
        (
            {"solve": fitted_models.cheapest, "loss": fitted_models.missed},
            ValueError,
            r"has no function 'loss' \(its functions: 'solve'\)",
        ),
    ],
)
def test_what_is_given_as_a_function(given, error, message, tmp_path):
    learner(fitted_models.cheapest, tmp_path / "model.mm")
    with pytest.raises(error, match=message):
        mm.load(tmp_path / "model.mm", functions=given)


def test_functions_named_by_an_earlier_version_are_not_looked_up(tmp_path):
    learner(fitted_models.cheapest, tmp_path / "model.mm")

    def edit(document, _):
        document["version"] = 1
        del document["needs"]
        document["parameters"]["optimizer"]["solve"] = {
            "$function": {"module": fitted_models.__name__, "name": "cheapest"}
        }

    change(tmp_path / "model.mm", edit)
    refused(tmp_path / "model.mm", "was written by an earlier version, which saved functions by the names of their mod")


def test_a_function_is_used_in_its_own_place_only(tmp_path):
    """A file that asks for `feasible` where `solve` belongs is damaged."""
    learner(fitted_models.cheapest, tmp_path / "model.mm", feasible=fitted_models.single)
    functions = {"solve": fitted_models.cheapest, "feasible": fitted_models.single}
    for place, name in ((("optimizer", "solve"), "feasible"), (("loss",), "solve"), (("nonnegative",), "solve")):
        path = tmp_path / "other.mm"
        path.write_bytes((tmp_path / "model.mm").read_bytes())

        def edit(document, _, place=place, name=name):
            node = document["parameters"]
            for key in place[:-1]:
                node = node[key]
            node[place[-1]] = {"$function": name}

        change(path, edit)
        refused(path, f"parameters.{'.'.join(place)} is the function '{name}', expected", functions=functions)


def test_attributes_do_not_replace_methods(tmp_path):
    model, _ = fitted_models.model_of("structure")
    for name in ("argmax", "_value", "__class__", "__dict__", "not a name"):
        model.save(tmp_path / "model.mm")
        change(
            tmp_path / "model.mm",
            lambda document, _, n=name: document["parameters"]["structure"]["attributes"].update({n: 1}),
        )
        refused(tmp_path / "model.mm", f"{name!r} is not an attribute of Signs", **fitted_models.GIVEN["structure"][1])


def test_structures_of_the_library_are_made_by_their_own_checks(tmp_path):
    """Attributes that are set without a check would reach kernels."""
    model, _ = fitted_models.model_of("tagger")
    model.save(tmp_path / "model.mm")

    def edit(document, _):
        document["structure"] = {"$structure": "Chain", "attributes": {"size": 20, "labels_": [1, 2]}}

    change(tmp_path / "model.mm", edit)
    refused(tmp_path / "model.mm", "is damaged: structure.state is a NoneType, expected a dict")


# ---------------------------------------------------------------------- hostile names

CALLED = []


class Trap(types.ModuleType):
    """A module that notes when anything of it is looked up."""

    def __getattribute__(self, name):
        if not name.startswith("__"):
            CALLED.append(name)
        return super().__getattribute__(name)


class Duck:
    """Has the methods of a structure, but nobody gave it."""

    joint_feature = loss = argmax = loss_augmented_argmax = lambda *arguments, **options: CALLED.append("method")

    def __init__(self, *arguments, **options):
        CALLED.append("constructor")

    @classmethod
    def from_state(cls, state):
        CALLED.append("from_state")


@pytest.fixture
def trap(monkeypatch):
    module = Trap("mm_trap")
    module.run = lambda *arguments, **options: CALLED.append("run")
    module.Duck, module.Own = Duck, type("Own", (fitted_models.Signs,), {"__init__": Duck.__init__})
    monkeypatch.setitem(sys.modules, "mm_trap", module)
    CALLED.clear()
    return module


NAMES = [
    "mm_trap.run", "pickle._loads", "os.system", "builtins.eval", "subprocess.Popen", "numpy.load", "joblib.load",
    "scipy.sparse.csr_array", "sklearn.svm.SVC", "load", "Optimizer", "Structure", "Chain", "MulticlassSVM",
    "Certificate", "solver auto", "datasets", "__import__", "__class__", "mm_trap.Duck", "mm_trap.Own",
    "maxmargin.Chain", "maxmargin.optimizers.ready.Knapsack", "solve", "", "antigravity.geohash",
]  # fmt: skip


def hostile(name):
    """All forms in which a file could ask for a name."""
    module, _, last = name.rpartition(".")
    asked = {"module": module, "name": last}
    state = {"state": {"parameters": {}, "learnt": {}}, "parameters": {}, "attributes": {"size": 1}}
    yield name
    yield {"$function": name}
    yield {"$function": asked}
    yield {"$structure": asked, **state}
    yield {"$structure": name, **state}
    yield {"$record": name, "fields": {}}
    yield {"$optimizer": name, "arguments": {}, "options": {}}
    yield {"$optimizer": "", "solve": {"$function": name}, "feasible": None, "options": {}}
    yield {"$scalar": [name, 1]}
    yield {f"${name}": [1]}


def with_value(document, place, value):
    changed = json.loads(document)
    node = changed
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return changed


@pytest.mark.parametrize("name", [*fitted_models.MODELS, *fitted_models.GIVEN])
def test_no_name_anywhere_in_a_file_is_looked_up_or_called(name, tmp_path, trap):
    """A name is compared with names of the library and of what was given, or it is only text."""
    (model, X), given = fitted_models.model_of(name), fitted_models.GIVEN.get(name, (None, {}))[1]
    path = tmp_path / "model.mm"
    model.save(path)
    contents = members(path.read_bytes())
    document = contents["model.json"]
    CALLED.clear()
    everywhere = [p for p in places(json.loads(document)) if not {"history_", "certificate_"} & {*map(str, p[:-1])}]
    forms = [form for hostile_name in NAMES for form in hostile(hostile_name)]
    for number, place in enumerate(everywhere):
        changed = with_value(document, place, forms[(number * 37) % len(forms)])
        if number % 2 and isinstance(changed.get("needs"), dict):
            changed["needs"]["classes"] = changed["needs"]["functions"] = None  # the list hides what is asked for
        path.write_bytes(packed({**contents, "model.json": json.dumps(changed)}))
        try:
            loaded = mm.load(path, **given)
        except ValueError as error:
            assert str(error).startswith(f"{path} ")
        else:
            assert type(loaded) is type(model)
            with contextlib.suppress(ValueError):
                loaded.predict(X)
        assert CALLED == [], place
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_a_name_in_every_place_of_a_function(name, tmp_path, trap):
    path = tmp_path / "model.mm"
    learner(fitted_models.cheapest, path, feasible=fitted_models.single)
    contents = members(path.read_bytes())
    asked = [place for place in places(json.loads(contents["model.json"])) if place[-1] in ("solve", "$function")]
    assert len(asked) == 7  # solve and feasible of the optimiser, of the structure's too, and what is needed
    CALLED.clear()
    for place in asked:
        for form in hostile(name):
            changed = with_value(contents["model.json"], place, form)
            changed["needs"] = {"classes": [], "functions": {}}
            for version in (1, 2, 3):
                changed["version"] = version
                path.write_bytes(packed({**contents, "model.json": json.dumps(changed)}))
                with pytest.raises(ValueError, match=r"model\.mm "):
                    mm.load(path)
                try:
                    loaded = mm.load(
                        path, functions={"solve": fitted_models.cheapest, "feasible": fitted_models.single}
                    )
                except ValueError:
                    continue
                assert loaded.optimizer.function is loaded.structure_.optimizer.function is fitted_models.cheapest
    assert CALLED == []


class Shell:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def test_a_pickle_in_the_weights_is_not_run(tmp_path):
    """`solve` receives the weights as costs: with ``pickle._loads`` in its place, they would be run as a pickle."""
    path, trace, bad = tmp_path / "model.mm", tmp_path / "trace", tmp_path / "bad.mm"
    learner(fitted_models.cheapest, path)
    contents = members(path.read_bytes())
    stored = np.load(io.BytesIO(contents["weights.npy"]))
    content = np.zeros(stored.nbytes, np.uint8)
    pickled = np.frombuffer(pickle.dumps(Shell(trace), 0), np.uint8)[: stored.nbytes]
    content[: len(pickled)] = pickled
    for asked in ({"module": "pickle", "name": "_loads"}, "pickle._loads", "_loads", "solve"):
        text = contents["model.json"].decode().replace('{"$function":"solve"}', json.dumps({"$function": asked}))
        weights = npy(np.nan_to_num(content.view(float)))
        bad.write_bytes(packed({**contents, "model.json": text, "weights.npy": weights}))
        with pytest.raises(ValueError, match=r"needs the function 'solve'"):
            mm.load(bad)
        if asked == "solve":
            assert mm.load(bad, functions={"solve": fitted_models.cheapest}).predict(fitted_models.ROWS).shape == (
                15,
                4,
            )
        else:
            refused(bad, "earlier version|is the function", functions={"solve": fitted_models.cheapest})
    assert not trace.exists()

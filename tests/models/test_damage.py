"""Files that are not valid models raise an error that names the file; nothing in a file is ever executed."""

import io
import json
import os
import pickle
import random
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin._base import archive
from maxmargin.models import FORMAT
from maxmargin.models import files as model_files
from tests.helpers.model_files import change, members, npy, packed, places, refused

CHAINS = mm.datasets.make_chains(10, random_state=0)
TOKENS = [[{"word": f"w{row[0]:.0f}", "up": float(row[1])} for row in x] for x in CHAINS[0]]


class Unit(mm.Structure):
    """The smallest structure of one's own: the sign of a number."""

    size = 1

    def __init__(self, shift=0.0):
        self.shift = shift

    def joint_feature(self, x, y):
        return np.array([(x - self.shift) * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w[0] * (x - self.shift) > 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((1, -1), key=lambda v: v * w[0] * (x - self.shift) + scale * (v != y))


def save_tagger(path):
    constraints, solver = mm.Constraints(((0, 9),)), mm.solvers.NSlack(epsilon=0.01)
    model = mm.SequenceTagger(constraints=constraints, classes=(0, 1, 2, 3, 9), solver=solver)
    model.fit(TOKENS, CHAINS[1]).save(path, support=True)


def save_multiclass(path):
    X, y = mm.datasets.make_multiclass(20, n_features=3, n_classes=3, random_state=0)
    model = mm.MulticlassSVM(loss={"a": 2.0}, random_state=np.random.RandomState(0))
    model.fit(X, np.array(["a", "b", "c"], object)[y]).save(path, support=True)


def save_own(path):
    mm.StructuralSVM(Unit(0.5)).fit([0.0, 1.0, 2.0, -1.0], [-1, 1, 1, -1]).save(path, support=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files as bytes."""
    folder, contents = tmp_path_factory.mktemp("models"), {}
    for save in (save_tagger, save_multiclass, save_own):
        save(folder / "model.mm")
        contents[save.__name__.removeprefix("save_")] = (folder / "model.mm").read_bytes()
    return contents


@pytest.fixture
def path(tmp_path, files):
    """A good file of a tagger."""
    (tmp_path / "model.mm").write_bytes(files["tagger"])
    return tmp_path / "model.mm"


# ---------------------------------------------------------------------- files of other kinds


def test_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mm.load(tmp_path / "nowhere.mm")


def test_a_string_as_path(path):
    assert isinstance(mm.load(str(path)), mm.SequenceTagger)


def npz():
    buffer = io.BytesIO()
    np.savez(buffer, coef=np.ones(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"P", "another file, which begins with b'P'"),
        (b"hello, this is text", "is not a model file of maxmargin, it is another file, which begins with b'hello"),
        (b'{"format": "maxmargin model"}', "it is JSON or other text"),
        (pickle.dumps({"a": 1}), "it is a pickle, which could run code"),
        (npy(np.ones(3)), "it is a NumPy array"),
        (b"\x1f\x8b\x08\x00" + bytes(20), "it is a gzip file"),
        (npz(), "it is a NumPy npz file: it contains coef.npy"),
        (packed({"word/document.xml": "<x/>"}), "it is another zip file: it contains word/document.xml"),
        (packed({str(n): "" for n in range(9)}), "it contains 0, 1, 2, 3, 4, …"),
        (packed({"model.json": "{}"}), "its model.json was written by another program"),
        (packed({"model.json": "[1, 2]"}), "its model.json was written by another program"),
        (packed({"model.json": '{"format": "other"}'}), "its model.json was written by another program"),
        (packed({"model.json": "{"}), "model.json is not JSON"),
        (packed({"model.json": "[" * 100_000}), "model.json is not JSON"),
        (packed({"model.json": "9" * 10_000}), "model.json is not JSON"),
        (packed({"model.json": "NaN"}), "NaN is not JSON"),
        (packed({"model.json": b"\xff\xfe"}), "model.json is not JSON"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value[:30],
)
def test_foreign(tmp_path, content, message):
    (tmp_path / "other.mm").write_bytes(content)
    refused(tmp_path / "other.mm", message)


def test_a_checkpoint(tmp_path):
    mm.SequenceTagger(checkpoint=tmp_path / "run.mm").fit(*CHAINS)
    refused(tmp_path / "run.mm", r"it is a checkpoint of maxmargin: fit\(resume=path\) reads it")


def test_a_newer_file(path):
    change(path, lambda document, _: document.update(version=FORMAT + 1, maxmargin="9.1", estimator=None, more=[]))
    found = refused(path, rf"is of a newer version: it has format {FORMAT + 1} and was written by maxmargin 9\.1")
    assert f"this is maxmargin {mm.__version__}, which reads up to format {FORMAT}" in found


@pytest.mark.parametrize("version", [0, -1, None, "1", 1.0, True])
def test_no_version(path, version):
    change(path, lambda document, _: document.update(version=version))
    refused(path, "is damaged: its version is")


# ---------------------------------------------------------------------- damage


@pytest.mark.parametrize("name", ["tagger", "multiclass", "own"])
def test_truncated_anywhere(files, tmp_path, name):
    whole = files[name]
    for length in sorted({*range(0, len(whole), 97), *range(len(whole) - 30, len(whole))}):
        (tmp_path / "cut.mm").write_bytes(whole[:length])
        refused(tmp_path / "cut.mm", "is empty|some other file|is truncated or damaged")


@pytest.mark.parametrize("name", ["tagger", "multiclass", "own"])
def test_any_flipped_byte_is_found_or_harmless(files, tmp_path, name):
    """The check sums of zip cover all contents; what they do not cover (dates and the like) says nothing."""
    whole, rng, target = files[name], random.Random(0), tmp_path / "flipped.mm"
    target.write_bytes(whole)
    weights, found = mm.load(target, classes=Unit).coef_, 0
    for place in rng.sample(range(len(whole)), 300):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        target.write_bytes(flipped)
        try:
            again = mm.load(target, classes=Unit).coef_
        except ValueError as error:
            assert str(error).startswith(f"{target} ")
            found += 1
        else:
            assert again.tobytes() == weights.tobytes(), place
    assert found > 150


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3) | st.sampled_from(["weights", "Chain", "StructuralSVM", "json", "x_"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["$tuple", "$array", "$dict", "$objects", "$scalar", "$record", "$structure", "$set", "$int", "$float",
             "$str", "$bytes", "$range", "$random", "fields", "state", "attributes", "width", "learnt", "name"]
        ),
        inner, max_size=3,
    ),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.parametrize("name", ["tagger", "multiclass", "own"])
def test_any_other_json_is_a_sentence_or_a_model(files, tmp_path_factory, name):
    """Any value at any position of the document leads to a clear error or to an estimator."""
    contents = members(files[name])
    document = json.loads(contents["model.json"])
    everywhere = [place for place in places(document) if "history_" not in place or place[-1] == "history_"]
    target = tmp_path_factory.mktemp("fuzz") / "model.mm"

    @settings(max_examples=120)
    @given(st.sampled_from(everywhere), JSON | st.just("drop"))
    def try_it(place, other):
        changed = json.loads(json.dumps(document))
        node = changed
        for key in place[:-1]:
            node = node[key]
        if other == "drop":
            del node[place[-1]]
        else:
            node[place[-1]] = other
        target.write_bytes(packed({**contents, "model.json": json.dumps(changed)}))
        try:
            model = mm.load(target, classes=Unit)
        except ValueError as error:
            assert str(error).startswith(f"{target} ")
        else:
            assert model.coef_.dtype == np.float64

    try_it()


def member_of(kind):
    return {"weights": "weights.npy", "vocabulary": "structure.learnt.tokens.vocabulary.text.npy"}[kind]


@pytest.mark.parametrize(
    ("member", "content", "message"),
    [
        ("weights", None, "the array weights.npy is missing"),
        ("weights", b"", "weights.npy cannot be read"),
        ("weights", b"not an array, but long enough to be one", "weights.npy cannot be read"),
        ("weights", npy(np.ones(3)), "it has 3 weights, its structure"),
        ("weights", npy(np.ones((3, 3))), "its weights are not a vector of float64"),
        ("weights", npy(np.ones(3, np.float32)), "its weights are not a vector of float64"),
        ("weights", npy(np.array(["a"])), "its weights are not a vector of float64"),
        ("weights", npy(np.ones(3))[:-4], "takes 24 bytes, found 20"),
        ("weights", npy(np.ones(3)) + b"more", "takes 24 bytes, found 28"),
        ("weights", npy(np.ones(3)).replace(b"(3,)", b"(9,)"), "takes 72 bytes, found 24"),
        ("weights", npy(np.ones(3)).replace(b"(3,), }      ", b"(10000000,),}"), "takes 80000000 bytes, found 24"),
        ("weights", npy(np.ones(3)).replace(b"(3,), }", b"(-3,),}"), "takes -24 bytes, found 24"),
        ("weights", npy(np.ones(3)).replace(b"'<f8'", b"'|V8'"), "not allowed"),
        ("weights", npy(np.zeros(3, [("a", "f8")])), "not allowed"),
        ("weights", npy(np.array([None]), allow_pickle=True), "arrays of object are not allowed"),
        ("weights", npy(np.array([True]))[:-1] + b"\x05", "neither 0 nor 1"),
        ("weights", npy(np.array(["a"]))[:-4] + b"\xff" * 4, "a string contains an invalid character"),
        ("weights", npy(np.ones(3)).replace(b"NUMPY\x01", b"NUMPY\x07"), "cannot be read"),
        ("vocabulary", npy(np.frombuffer(b"\xff" * 9, np.uint8)), "is damaged: 'utf-8' codec"),
        ("vocabulary", npy(np.frombuffer(b"a" * 9, np.uint8)), "names of features must be distinct"),
        ("vocabulary", npy(np.ones(3)), "names of features must be bytes of UTF-8"),
    ],
)
def test_damaged_arrays(path, member, content, message):
    def edit(document, contents):
        contents[member_of(member)] = content
        if content is None:
            del contents[member_of(member)]

    change(path, edit)
    refused(path, message)


def edits():
    """(what to change, expected sentence); places by dots."""
    chain, fitted = "structure.state.learnt", "fitted"
    return [
        ("estimator", "Nobody", "there is no estimator 'Nobody'"),
        ("estimator", "PrecisionAtK", r'does not have: fit StructuredRanker\(measure="precision@k"\) to the same data'),
        (
            "estimator",
            "LatentStructuralSVM",
            "has the estimator LatentStructuralSVM, .*: fit StructuralSVM to the same",
        ),
        ("structure.$structure", "TopK", r'has the structure TopK, .*: fit Ranking\(measure="precision@k"\)'),
        ("estimator", "MulticlassSVM", "MulticlassSVM has no parameter 'constraints'"),
        ("estimator", 3, "estimator is an int, expected a dict"),
        ("parameters.C", "much", "C must be a number > 0, found 'much'"),
        ("parameters.n_jobs", [1], "is damaged, or of another version: n_jobs must be"),
        ("parameters.solver", {"$record": "solver other", "fields": {}}, "an unknown 'solver other'"),
        ("parameters.kernels", "rbf", "SequenceTagger has no parameter 'kernels'"),
        ("parameters", [], "parameters is a list, expected a dict"),
        ("structure", None, "it has no structure"),
        ("structure.$structure", "Shrub", "there is no structure 'Shrub'"),
        ("structure.state", {}, "structure.state.parameters is a NoneType, expected a dict"),
        (chain, {}, "is damaged: KeyError: 'tokens'"),
        (f"{chain}.labels", [0, 0, 1], "labels must be a list of distinct values"),
        (f"{chain}.labels", [0], "expected at least two classes"),
        (f"{chain}.labels", [0, 1, [2]], "labels must be hashable"),
        (f"{chain}.labels", "abc", "labels must be a list|constraints refer to labels"),
        (f"{chain}.labels", [0, 1, 9], r"\d+ weights, its structure \d+"),
        (f"{chain}.tokens", {"width": 1000}, r"\d+ weights, its structure 5040"),
        ("weights", [1.0], "its weights are not a vector of float64"),
        ("weights", {"$array": "elsewhere"}, "the array elsewhere.npy is missing"),
        ("weights", {"$array": "support.alphas"}, "weights, its structure|cannot|missing"),
        ("weights", {"$pickle": "gASVAAAA"}, r"weights is of an unknown kind '\$pickle'"),
        (f"{fitted}.history_", "long", "history_ is str, expected list"),
        (f"{fitted}.certificate_", 1.0, "certificate_ is float, expected Certificate"),
        (f"{fitted}.certificate_.fields.primal", "low", "its certificate is"),
        (f"{fitted}.certificate_.fields.relaxation", [], "its certificate is"),
        (f"{fitted}.certificate_.fields.relaxation", "", "its certificate is"),
        (f"{fitted}.certificate_.fields.seconds", {"$int": hex(10**400)}, "its certificate is"),
        (f"{fitted}.temperature_", {"$set": ["a"]}, "temperature_ must be a number"),
        (f"{fitted}.temperature_", {"$float": "inf"}, "temperature_ must be a number"),
        (f"{fitted}.temperature_", 0, "temperature_ must be a number > 0"),
        (f"{fitted}.n_iter_", 1.5, "n_iter_ is float, expected Integral"),
        (f"{fitted}.predict", 1, "'predict' is not a fitted attribute"),
        (f"{fitted}._secret_", 1, "'_secret_' is not a fitted attribute"),
        ("support.alphas", {"$array": "support.indptr"}, "support.alphas has shape|missing"),
        ("support.outputs.codes", None, "is damaged"),
        ("support.outputs", None, "is damaged"),
        ("needs", "os", "needs is a str, expected a dict"),
        ("needs", {"classes": ["os"], "functions": {}}, "needs.classes is a str, expected a dict"),
        ("needs", {"classes": [], "functions": {"a": 1}}, r"needs the function 'a' \(1 when it was saved\)"),
    ]


@pytest.mark.parametrize(("place", "value", "message"), edits(), ids=lambda value: str(value)[:30])
def test_damaged_document(path, place, value, message):
    def edit(document, contents):
        node = document
        *parents, last = place.split(".")
        for key in parents:
            node = node[key]
        node[last] = value

    change(path, edit)
    refused(path, message)


@pytest.mark.parametrize("name", ["certificate_", "history_", "stop_reason_", "n_iter_"])
def test_a_fit_without_one_of_its_results(path, name):
    def edit(document, contents):
        del document["fitted"][name]

    change(path, edit)
    refused(path, f"it has no {name}, but other results of a fit")


@pytest.mark.parametrize("name", model_files._ENTRIES)
def test_missing_entries(path, name):
    change(path, lambda document, _: document.pop(name))
    refused(path, f"its model.json has no {name}")


def test_damaged_multiclass(files, tmp_path):
    target = tmp_path / "model.mm"
    for name, value, message in (
        ("classes_", {"$objects": [[2], ["a", "b"]]}, r"classes_ has shape \(2,\), expected \(3,\)"),
        ("classes_", {"$objects": [[4], ["a", "b"]]}, "is damaged: cannot reshape"),
        ("classes_", ["a", "b", "c"], "classes_ is list, expected ndarray"),
        ("n_features_in_", 7, "n_features_in_ is 7, its structure has 3"),
        ("feature_names_in_", {"$objects": [[1], ["a"]]}, r"feature_names_in_ has shape \(1,\), expected \(3,\)"),
    ):
        target.write_bytes(files["multiclass"])
        change(target, lambda document, _, n=name, v=value: document["fitted"].update({n: v}))
        refused(target, message)
    target.write_bytes(files["multiclass"])
    change(target, lambda document, _: document["fitted"].pop("n_features_in_"))
    refused(target, "is damaged: it has no n_features_in_")
    target.write_bytes(files["multiclass"])
    change(target, lambda document, _: document["fitted"].pop("classes_"))
    refused(target, "is damaged: it has no classes_")


def test_damaged_support(path, files):
    def with_array(name, array):
        path.write_bytes(files["tagger"])
        change(path, lambda _, contents: contents.update({f"support.{name}.npy": npy(array)}))

    planes = len(mm.load(path).support_)
    with_array("alphas", np.ones(1))
    refused(path, "the arrays of support differ in length")
    with_array("indices", np.full(planes, 10**6, np.int32))
    refused(path, "is damaged")
    with_array("outputs.codes", np.full(3, 99, np.int32))
    refused(path, "codes must be integers from 0 to 4")
    with_array("outputs.lengths", np.full(planes, 1))
    refused(path, "expected .* labels in total")


# ---------------------------------------------------------------------- sizes


def patch_sizes(content, name, size):
    """The size that the zip claims for a member, in both of its headers."""
    at = content.index(name.encode()) - 30
    central = content.rindex(name.encode()) - 46
    assert content[at : at + 4] == b"PK\x03\x04"
    assert content[central : central + 4] == b"PK\x01\x02"
    patched = bytearray(content)
    patched[at + 22 : at + 26] = patched[central + 24 : central + 28] = struct.pack("<I", size)
    return bytes(patched)


def test_a_member_cannot_claim_more_than_its_bytes_can_hold(path, monkeypatch):
    path.write_bytes(patch_sizes(packed(members(path.read_bytes())), "weights.npy", 2**32 - 2))

    def never(*args, **kwargs):
        raise AssertionError("allocated")

    monkeypatch.setattr(np, "empty", never)
    refused(path, "weights.npy claims 4294967294 bytes, but .* bytes in the file cannot hold them")


def test_more_than_the_memory_that_is_free(path, monkeypatch):
    monkeypatch.setattr(archive, "available_bytes", lambda: 100.0)
    refused(path, "unpacks to .* GB, and only 1e-07 GB of memory are free")


def test_an_array_is_read_once(path):
    """A small file must not grow by naming one array many times."""
    change(path, lambda document, _: document["fitted"].update(more_=[{"$array": "weights"}] * 10))
    refused(path, "the array weights.npy is missing")


def test_two_members_of_one_name(path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as opened:
        opened.writestr("model.json", "{}")
    refused(path, "it has two members of the same name")


def test_other_ways_of_packing(path):
    contents = members(path.read_bytes())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as opened:
        for name, content in contents.items():
            opened.writestr(name, content)
    refused(path, "is encrypted or compressed by an unknown method")


# ---------------------------------------------------------------------- nothing is run


class Boom:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


def test_pickles_are_never_opened(path, tmp_path):
    trace = tmp_path / "trace"
    boom = np.array([Boom(trace)], object)
    for content in (pickle.dumps(Boom(trace)), npy(boom, allow_pickle=True)):
        change(path, lambda _, contents, c=content: contents.update({"weights.npy": c}))
        refused(path, "weights.npy cannot be read")
    save_tagger(path)
    change(path, lambda _, contents: contents.update({"extra.pkl": pickle.dumps(Boom(trace)), "x.py": "boom"}))
    assert isinstance(mm.load(path), mm.SequenceTagger)
    path.write_bytes(pickle.dumps(Boom(trace)))
    refused(path, "it is a pickle")
    assert not trace.exists()
    pickle.loads(pickle.dumps(Boom(trace)))
    assert trace.exists()


# ---------------------------------------------------------------------- a failing disk


@pytest.mark.parametrize("fails_at", ["write_array", "replace"])
def test_a_failure_while_saving_leaves_the_old_model(path, monkeypatch, fails_at):
    before, model = path.read_bytes(), mm.load(path)

    def fails(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(*((archive.npy, fails_at, fails) if fails_at == "write_array" else (os, fails_at, fails)))
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


RANDOM = {
    "nothing": [],
    "too few": ["MT19937", {"$array": "parameters.random_state_1"}],
    "another generator": ["PCG64", {"$array": "parameters.random_state_1"}, 1, 0, 0.0],
    "a place far behind": ["MT19937", {"$array": "parameters.random_state_1"}, 10**6, 0, 0.0],
    "a place before": ["MT19937", {"$array": "parameters.random_state_1"}, -1, 0, 0.0],
    "another array": ["MT19937", {"$array": "weights"}, 1, 0, 0.0],
    "a number for an array": ["MT19937", 5, 1, 0, 0.0],
}


@pytest.mark.parametrize("name", RANDOM)
def test_states_of_random_generators(name, tmp_path, files):
    """Numpy would read memory that is not its own."""
    path = tmp_path / "model.mm"
    path.write_bytes(files["multiclass"])
    change(
        path, lambda document, _: document["parameters"]["random_state"].update({"$random": {"$tuple": RANDOM[name]}})
    )
    refused(path, "is damaged: .*random_state is not the state of a random generator")


@pytest.mark.parametrize("method", ["leverage", "sketch"])
def test_kernel_methods_of_older_files(tmp_path, method):
    kernel = mm.Kernel("rbf", gamma=2.0)
    mm.MulticlassSVM(kernel=kernel).fit(np.eye(3), [0, 1, 2]).save(tmp_path / "model.mm")
    change(tmp_path / "model.mm", lambda document, _: document["parameters"]["kernel"]["fields"].update(method=method))
    refused(tmp_path / "model.mm", f"or of another version: there is no method={method!r}: fit with method=")

"""Checkpoints recognise their data and settings, and no damaged one is restored."""

import json
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin._base.archive import CHECKPOINT, Archive, write_archive
from maxmargin.custom.examples import DIGEST_SAMPLE
from maxmargin.exceptions import InexactArgmaxWarning
from maxmargin.training.run import checksum

LABELS = (0, 1, 2)


class Labels(mm.Structure):
    """Multiclass over inputs of any kind; loss and argmaxes at w = 0 are the same whatever the features."""

    size = 9

    def __init__(self, read=np.asarray, names=None):
        self.read = read
        if names is not None:
            self.feature_names = lambda: names

    def joint_feature(self, x, y):
        return 3 * y + np.arange(3), self.read(x) if y else np.zeros(3)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 0, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        def value(k):
            indices, values = self.joint_feature(x, k)
            return w[indices] @ values + scale * (k != y)

        return max(LABELS, key=value)


@dataclass
class Row:
    numbers: list


class Opaque:
    """An input that cannot be read without the structure."""

    def __init__(self, numbers):
        self.numbers = numbers


FORMS = {
    "arrays": (np.asarray, np.asarray),
    "lists": (list, np.asarray),
    "dicts": (lambda row: {"row": tuple(row)}, lambda x: np.asarray(x["row"])),
    "dataclasses": (lambda row: Row(row.tolist()), lambda x: np.asarray(x.numbers)),
    "text": (lambda row: " ".join(map(repr, row.tolist())), lambda x: np.array(x.split(), float)),
    "objects": (Opaque, lambda x: x.numbers),
}

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(40, 3))
TRUTHS = [0 if i % 2 else int(row.argmax()) for i, row in enumerate(ROWS)]


def quiet(call, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments, **named)


@pytest.mark.parametrize("form", FORMS)
def test_other_data_of_the_same_shape(tmp_path, form):
    """The truths that change have no features, so that Ψ(x, y) is the same; objects are recognised by a sample only."""
    write, read = FORMS[form]
    path, structure = tmp_path / "fit.npz", Labels(read)
    fit = mm.StructuralSVM(structure, checkpoint=path, max_iter=3, tol=1e-9)
    quiet(fit.fit, [write(row) for row in ROWS], TRUTHS)
    again = quiet(mm.StructuralSVM(structure, max_iter=4).fit, [write(row.copy()) for row in ROWS], TRUTHS, resume=path)
    assert again.n_iter_ >= 3
    others = ROWS.copy()
    asked = np.linspace(0, len(ROWS) - 1, DIGEST_SAMPLE).astype(int)
    changed = [i for i, y in enumerate(TRUTHS) if y == 0 and (i in asked) == (form == "objects")]
    others[changed] *= -1.0
    with pytest.raises(ValueError, match="belongs to another run: its data"):
        mm.StructuralSVM(structure).fit([write(row) for row in others], TRUTHS, resume=path)


def test_other_names_of_features(tmp_path):
    path = tmp_path / "fit.npz"
    names = [f"f{j}" for j in range(9)]
    quiet(mm.StructuralSVM(Labels(names=names), checkpoint=path, max_iter=2, tol=1e-9).fit, ROWS, TRUTHS)
    quiet(mm.StructuralSVM(Labels(names=list(names)), max_iter=3).fit, ROWS, TRUTHS, resume=path)
    with pytest.raises(ValueError, match="another run: its feature names or labels"):
        mm.StructuralSVM(Labels(names=names[::-1])).fit(ROWS, TRUTHS, resume=path)


def test_other_names_of_labels_and_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    path, labels = tmp_path / "fit.npz", np.array(["a", "b", "c"])[TRUTHS]
    frame = pandas.DataFrame(ROWS, columns=["x", "y", "z"])
    quiet(mm.MulticlassSVM(checkpoint=path, max_iter=2, tol=1e-9).fit, frame, labels)
    quiet(mm.MulticlassSVM(max_iter=3).fit, frame, labels, resume=path)
    for other in (
        (frame, np.array(["a", "b", "d"])[TRUTHS]),
        (frame.rename(columns={"y": "v"}), labels),
    ):
        with pytest.raises(ValueError, match="another run: its feature names or labels"):
            mm.MulticlassSVM().fit(*other, resume=path)
    tokens = [[{"word=a": 1.0}, {"word=b": 1.0}], [{"word=b": 1.0}]]
    path = tmp_path / "tags.npz"
    quiet(mm.SequenceTagger(checkpoint=path, max_iter=2, tol=1e-9).fit, tokens, [["X", "O"], ["O"]])
    renamed = [[{name.replace("word", "form"): v for name, v in t.items()} for t in s] for s in tokens]
    with pytest.raises(ValueError, match="another run: its feature names or labels"):
        mm.SequenceTagger().fit(renamed, [["X", "O"], ["O"]], resume=path)


def test_another_random_state(tmp_path):
    path = tmp_path / "fit.npz"
    quiet(mm.MulticlassSVM(checkpoint=path, max_iter=2, tol=1e-9, random_state=1).fit, ROWS, TRUTHS)
    quiet(mm.MulticlassSVM(max_iter=3, random_state=np.int64(1)).fit, ROWS, TRUTHS, resume=path)
    with pytest.raises(ValueError, match="another run: its random_state is 1, expected 2"):
        mm.MulticlassSVM(random_state=2).fit(ROWS, TRUTHS, resume=path)
    generator = np.random.RandomState(0)  # a new seed at every use, so that there is nothing to compare
    model = mm.MulticlassSVM(checkpoint=path, max_iter=2, tol=1e-9, random_state=generator)
    quiet(model.fit, ROWS, TRUTHS)
    quiet(model.fit, ROWS, TRUTHS, resume=path)


class Writes(Labels):
    """Keeps what it has computed in its inputs."""

    def joint_feature(self, x, y):
        x.setdefault("calls", 0)
        return super().joint_feature(x, y)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        x["calls"] = x.get("calls", 0) + 1
        return super().loss_augmented_argmax(w, x, y, scale)


def test_inputs_that_a_structure_writes_into(tmp_path):
    path, (write, read) = tmp_path / "fit.npz", FORMS["dicts"]
    quiet(mm.StructuralSVM(Writes(read), checkpoint=path, max_iter=3, tol=1e-9).fit, [*map(write, ROWS)], TRUTHS)
    resumed = mm.StructuralSVM(Writes(read), max_iter=4)
    quiet(resumed.fit, [*map(write, ROWS)], TRUTHS, resume=path)
    assert [entry["iteration"] for entry in resumed.history_] == [4]


# ------------------------------------------------------------------ damage

SOLVERS = ["auto", "nslack", "oneslack", "bundle", "subgradient", "perceptron"]
CHAINS = mm.datasets.make_chains(12, random_state=0)


def mutations(array, rng):
    """Return damaged forms of an array."""
    yield array.astype(np.complex128 if array.dtype.kind == "f" else np.float32)
    yield array.astype(object).astype(str)
    yield array[None]
    yield array.ravel()[: array.size // 2]
    yield np.concatenate([array.ravel(), array.ravel()])
    if not array.size:
        return
    flat = array.ravel()
    if array.dtype.kind == "f":
        worst = [np.nan, np.inf, -np.inf, 1e308, -1.0]
    else:
        worst = [np.iinfo(array.dtype).max, np.iinfo(array.dtype).min, len(flat), 2**31 - 1]
    for value in worst:
        damaged = flat.copy()
        with np.errstate(all="ignore"):
            damaged[rng.integers(len(flat))] = np.array(value).astype(array.dtype)
        yield damaged.reshape(array.shape)
        yield np.full_like(array, np.array(value).astype(array.dtype))
    yield rng.permutation(flat).reshape(array.shape)


def contents(path):
    """Return the header and the arrays of a checkpoint."""
    with open(path, "rb") as file:
        archive = Archive(file, CHECKPOINT)
        return archive.document(), archive.arrays()


def written(target, header, arrays):
    with open(target, "wb") as file:
        write_archive(file, CHECKPOINT, header, arrays)


def rewritten(path, target, name, array, sign):
    """Write a checkpoint with one array replaced, with a checksum of its own if `sign`."""
    header, arrays = contents(path)
    arrays[name] = array
    written(target, header | {"arrays": checksum(arrays)} if sign else header, arrays)


def checkpoint(tmp_path, solver, **settings):
    path = tmp_path / "fit.npz"
    fit = mm.SequenceTagger(solver=solver, checkpoint=path, max_iter=3, tol=1e-9, **settings)
    quiet(fit.fit, *CHAINS)
    return path


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_changed_array_is_never_restored(tmp_path, solver):
    path, target = checkpoint(tmp_path, solver), tmp_path / "damaged.npz"
    _, arrays = contents(path)
    for name, array in arrays.items():
        if array.size:
            damaged = array.copy()
            damaged.ravel()[0] += 1
            rewritten(path, target, name, damaged, sign=False)
            with pytest.raises(ValueError, match=r"damaged\.npz is damaged: its arrays are not those"):
                mm.SequenceTagger(solver=solver).fit(*CHAINS, resume=target)


@pytest.mark.parametrize(
    ("solver", "settings"),
    [*((solver, {}) for solver in SOLVERS), ("auto", {"nonnegative": True, "slack": "quadratic"})],
)
def test_foreign_arrays_do_not_crash(tmp_path, solver, settings):
    """Even with a checksum that fits: an error that names the file, or a fit that goes on; never a crash."""
    path, target, rng = checkpoint(tmp_path, solver, **settings), tmp_path / "damaged.npz", np.random.default_rng(1)
    _, arrays = contents(path)
    refused = 0
    for name, array in arrays.items():
        forms = list(mutations(array, rng))
        for damaged in [forms[k] for k in rng.choice(len(forms), min(4, len(forms)), replace=False)]:
            rewritten(path, target, name, damaged, sign=True)
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore", InexactArgmaxWarning)  # forged planes contradict the rest
                    model = quiet(mm.SequenceTagger(solver=solver, max_iter=5, **settings).fit, *CHAINS, resume=target)
            except ValueError as error:  # scores of forged weights may overflow
                refused += "damaged.npz is damaged: " in str(error)
            else:
                assert len(model.predict(CHAINS[0])) == 12
    assert refused > len(arrays)


def test_other_arrays_and_files(tmp_path):
    path, target = checkpoint(tmp_path, "auto"), tmp_path / "damaged.npz"
    header, arrays = contents(path)

    def refused(message):
        with pytest.raises(ValueError, match=rf"damaged\.npz {message}"):
            mm.SequenceTagger().fit(*CHAINS, resume=target)

    for wrong, message in (
        ({}, "is not a checkpoint of maxmargin, it is another file"),
        ({"w": np.zeros(2)}, r"is not a checkpoint of maxmargin, it is a NumPy npz file: it contains w\.npy"),
        ({"header": np.zeros(3)}, r"is damaged: header\.npy is not JSON"),
        ({"header": np.frombuffer(b"[]", np.uint8)}, "is damaged: its header is not readable"),
    ):
        np.savez(target, **wrong)
        refused(message)
    for names in ([*arrays][1:], [*arrays, "other"]):
        some = {name: arrays.get(name, np.zeros(1)) for name in names}
        written(target, header | {"arrays": checksum(some)}, some)
        refused("is damaged: it has (no|an unknown) array")
    written(target, header | {"format": 2}, arrays)
    refused("has checkpoint format 2, and this version reads 3 to 4: fit from the beginning, without resume")
    target.write_bytes(path.read_bytes()[:-40])
    refused("is truncated or damaged")


def test_model_files_and_checkpoints_are_told_apart(tmp_path):
    path, target = checkpoint(tmp_path, "auto"), tmp_path / "model.mm"
    quiet(mm.SequenceTagger().fit, *CHAINS).save(target)
    with pytest.raises(ValueError, match=r"is not a checkpoint of .*, it is a model file .*: maxmargin\.load reads it"):
        mm.SequenceTagger().fit(*CHAINS, resume=target)
    with pytest.raises(ValueError, match=r"is not a model file .*, it is a checkpoint .*: fit\(resume=path\) reads it"):
        mm.load(path)


def test_checkpoints_of_format_3_are_read(tmp_path):
    path, old = checkpoint(tmp_path, "auto"), tmp_path / "old.npz"
    header, arrays = contents(path)
    text = json.dumps(header | {"format": 3}).encode()
    np.savez(old, header=np.frombuffer(text, np.uint8), **arrays)
    models = [quiet(mm.SequenceTagger(max_iter=5).fit, *CHAINS, resume=each) for each in (path, old)]
    assert models[0].history_[0]["iteration"] == models[1].history_[0]["iteration"] == 4
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    with pytest.raises(ValueError, match=r"old\.npz is not a model file .*, it is a checkpoint .*: fit\(resume=path\)"):
        mm.load(old)


def test_a_checkpoint_is_a_value(tmp_path):
    checkpoint = mm.Checkpoint(tmp_path / "fit.npz", every=0.0)
    assert repr(mm.Checkpoint("fit.npz")) == "Checkpoint('fit.npz')"
    model = clone(mm.SequenceTagger(checkpoint=checkpoint))
    assert model.checkpoint == checkpoint != mm.Checkpoint(tmp_path / "fit.npz")
    quiet(model.set_params(max_iter=1).fit, *CHAINS)
    resumed = mm.SequenceTagger().fit(*CHAINS, resume=checkpoint.path)
    np.testing.assert_array_equal(resumed.coef_, mm.SequenceTagger().fit(*CHAINS).coef_)
    model.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").checkpoint is None

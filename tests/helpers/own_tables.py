"""Structures of one's own written in tables, with joint features in every form."""

from __future__ import annotations

import pickle
from array import array

import numpy as np
import scipy.sparse as sp

from maxmargin.core.structure import Structure
from maxmargin.custom.examples import CustomExamples

SIZE = 8


def as_pair(psi):
    return np.flatnonzero(psi), psi[np.flatnonzero(psi)]


def reusing(buffer, given):
    """A form that writes every joint feature into the same work array, and gives what `given` makes of that."""

    def form(psi):
        buffer[:] = psi
        return given(buffer)

    return form


def reused_dict(psi, work={}):  # noqa: B006
    work.clear()
    work.update(enumerate(psi.tolist()))
    return work


def reused_bytes(psi, work=bytearray(8 * SIZE)):  # noqa: B008
    view = np.frombuffer(work)
    view[:] = psi
    return view


def reused_python_array(psi, work=array("d", [0.0] * SIZE)):  # noqa: B008
    work[:] = array("d", psi.tolist())
    return work


def reused_csr(psi, work=sp.csr_array(np.ones((1, SIZE)))):  # noqa: B008
    work.data[:] = psi
    return work


FORMS = {
    "one array again and again": reusing(np.zeros(SIZE), lambda buffer: buffer),
    "parts of one array": reusing(np.zeros(SIZE), lambda buffer: buffer[:SIZE]),
    "pair with one array": reusing(np.zeros(SIZE), lambda buffer: (np.arange(SIZE), buffer)),
    "pair of lists with one list": reusing([0.0] * SIZE, lambda buffer: (list(range(SIZE)), buffer)),
    "new csr rows of one array": reusing(
        np.zeros(SIZE), lambda buffer: sp.csr_array((buffer, np.arange(SIZE), [0, SIZE]), shape=(1, SIZE))
    ),
    "views of one bytearray": reused_bytes,
    "one array.array again and again": reused_python_array,
    "one dict again and again": reused_dict,
    "one csr row again and again": reused_csr,
    "dok": lambda psi: sp.dok_array(psi[None]),
    "dense": lambda psi: psi,
    "float32": lambda psi: psi.astype(np.float32),
    "integers": lambda psi: psi.astype(np.int16),
    "list": lambda psi: psi.tolist(),
    "csr_array row": lambda psi: sp.csr_array(psi[None]),
    "csr_array vector": lambda psi: sp.coo_array(psi).tocsr(),
    "csr_matrix": lambda psi: sp.csr_matrix(psi),
    "csr with stored zeros": lambda psi: sp.csr_array((psi, np.arange(SIZE), [0, SIZE]), shape=(1, SIZE)),
    "coo_array": lambda psi: sp.coo_array(psi),
    "coo_matrix": lambda psi: sp.coo_matrix(psi[None]),
    "csc": lambda psi: sp.csc_array(psi[None]),
    "lil": lambda psi: sp.lil_array(psi[None]),
    "pair": as_pair,
    "pair of lists": lambda psi: tuple(part.tolist() for part in as_pair(psi)),
    "pair of int32": lambda psi: (as_pair(psi)[0].astype(np.int32), as_pair(psi)[1]),
    "pair of uint64": lambda psi: (as_pair(psi)[0].astype(np.uint64), as_pair(psi)[1]),
    "pair, unsorted and in halves": lambda psi: (
        np.tile(as_pair(psi)[0][::-1], 2),
        np.tile(as_pair(psi)[1][::-1] / 2, 2),
    ),
    "dict": lambda psi: {int(j): psi[j] for j in np.flatnonzero(psi)},
    "dict of numpy ints": lambda psi: {j: psi[j] for j in np.flatnonzero(psi)},
}


class Table(Structure):
    """Output k of example i has the features and the loss that are written in tables; x is i, the truth is 0."""

    size = SIZE

    def __init__(self, psis, losses, form=FORMS["dense"]):
        self.psis, self.losses, self.form = psis, losses, form

    def joint_feature(self, x, y):
        return self.form(self.psis[x, y[0]])

    def loss(self, y, y_hat):
        return self.losses[y[1], y_hat[0]]

    def argmax(self, w, x):
        return [int(np.argmax(self.psis[x] @ w)), x]

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return [int(np.argmax(self.psis[x] @ w + scale * self.losses[x])), x]  # a list: outputs need no hash


class PlainTable(Table):
    """A table that can be pickled."""

    def __init__(self, psis, losses):
        super().__init__(psis, losses, None)

    def joint_feature(self, x, y):
        return self.psis[x, y[0]]


def answer_through(pipe):
    """Decode what comes through a pipe, and send the answers back: what a worker in another process does."""
    examples, w = pickle.loads(pipe.recv_bytes())
    answers = decoded(examples, w, np.ones(examples.n_examples))
    pipe.send((answers.keys, answers.rises, examples.planes(np.arange(examples.n_examples), answers)))


def tables(seed, n=5, n_outputs=4):
    rng = np.random.default_rng(seed)
    psis = rng.integers(-2, 3, (n, n_outputs, SIZE)) * (rng.random((n, n_outputs, SIZE)) < 0.5) * 1.0
    losses = rng.integers(0, 4, (n, n_outputs)) * 1.0
    losses[:, 0] = 0.0
    w = rng.normal(size=SIZE)
    return psis, losses, w, rng


def picklable(psis, losses):
    return CustomExamples(PlainTable(psis, losses), range(len(psis)), [[0, i] for i in range(len(psis))])


def encoded(psis, losses, form=FORMS["dense"]):
    n = len(psis)
    return CustomExamples(Table(psis, losses, form), range(n), [[0, i] for i in range(n)])


def decoded(examples, w, scales, ids=None):
    ids = np.arange(examples.n_examples) if ids is None else ids
    answers = examples.empty_answers()
    examples.begin(ids)
    examples.decode(w, ids, scales, answers)
    return answers

"""Bags of rows with a latent variable, small enough to enumerate all outputs (y, h)."""

from __future__ import annotations

import numpy as np

import maxmargin as mm


class Bag(mm.Structure):
    """A bag of three rows with a label y of ±1, which one row h gives away; a wrong label costs more in later rows."""

    size = 3

    def joint_feature(self, x, output):
        y, h = output
        return np.append(y * x[h], y)

    def loss(self, y, output):
        return (1.0 + 0.2 * output[1]) * (y != output[0])

    def outputs(self):
        return [(y, h) for y in (-1, 1) for h in range(3)]

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 1, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(self.outputs(), key=lambda z: w @ self.joint_feature(x, z) + scale * self.loss(y, z))

    def complete(self, w, x, y):
        return max(range(3), key=lambda h: w @ self.joint_feature(x, (y, h)))


class PairedBag(Bag):
    """Gives the pair (y, h), and begins at random."""

    def complete(self, w, x, y):
        return y, super().complete(w, x, y)

    def initial_completion(self, x, y, rng):
        return int(rng.integers(3))


def bags(seed, n=12):
    """Labels that one row of three decides, in part wrong."""
    rng = np.random.default_rng(seed)
    X = list(rng.normal(size=(n, 3, 2)))
    Y = [int(np.sign(x[rng.integers(3)] @ [1.0, -1.0] + 0.5 * rng.normal())) for x in X]
    return X, Y


def objective(w, X, Y, budgets, structure=None):
    """½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ + Δ] − max_h w·Ψ(x_i, y_i, h))."""
    bag = structure or Bag()
    bounds = []
    for x, y in zip(X, Y, strict=True):
        psi = {z: w @ bag.joint_feature(x, z) for z in bag.outputs()}
        bounds.append(max(psi[z] + bag.loss(y, z) for z in psi) - max(psi[y, h] for h in range(3)))
    return 0.5 * float(w @ w) + float(np.dot(budgets, bounds))

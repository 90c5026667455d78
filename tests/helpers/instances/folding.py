"""Random sequences with true structures; terms, losses and all structures in plain Python, by the names of weights."""

from __future__ import annotations

from functools import cache

import numpy as np

import maxmargin as mm
from maxmargin.testing.instance import Instance

PAIRS = {"AU", "UA", "CG", "GC", "GU", "UG"}


def pairs_of(structure):
    """The partner of each opening bracket."""
    found, waiting = {}, []
    for k, symbol in enumerate(structure):
        if symbol == "(":
            waiting.append(k)
        elif symbol == ")":
            found[waiting.pop()] = k
    return found


def one_way(letters):
    return min(letters, letters[::-1])


def branches_between(pairs, first, last):
    """The pairs and the number of unpaired bases from first to last that no other pair there encloses."""
    found, unpaired, k = [], 0, first
    while k <= last:
        if k in pairs:
            found.append((k, pairs[k]))
            k = pairs[k]
        else:
            unpaired += 1
        k += 1
    return found, unpaired


def terms(x, structure, least=3):
    """The names of the terms of a structure, with repetitions."""
    pairs, n, out = pairs_of(structure), len(x), []

    def branch(i, j):
        out.append(f"closing pair, {x[j]}{x[i]}")
        if j + 1 < n:
            out.append(f"3' dangle, {x[j]}{x[i]} {x[j + 1]}")
        if i > 0:
            out.append(f"5' dangle, {x[j]}{x[i]} {x[i - 1]}")

    outside, unpaired = branches_between(pairs, 0, n - 1)
    out += ["exterior, unpaired base"] * unpaired + ["exterior, branch"] * len(outside)
    for i, j in outside:
        branch(i, j)
    for i, j in pairs.items():
        inside, unpaired = branches_between(pairs, i + 1, j - 1)
        out.append(f"base pair, {one_way(x[i] + x[j])}")
        ends = f"{x[i]}{x[j]} {x[i + 1]}{x[j - 1]}"
        if len(inside) == 1 and not unpaired:
            out.append("stacking, {} {}".format(*split(one_way(ends.replace(" ", "")))))
            continue
        out.append(f"closing pair, {x[i]}{x[j]}")
        if not inside:
            out += [f"hairpin length, ≥ {k}" for k in range(least, min(unpaired, 30) + 1)]
            out += [f"hairpin mismatch, {ends}"] if unpaired else []
        elif len(inside) == 1:
            ((p, q),) = inside
            left, right = p - i - 1, j - q - 1
            out.append(f"closing pair, {x[q]}{x[p]}")
            if 0 in (left, right):
                out += [f"bulge length, ≥ {k}" for k in range(1, unpaired + 1)]
                out += [f"bulged base, {x[i + 1] if left else x[j - 1]}"] if unpaired == 1 else []
            else:
                out += [f"interior length, ≥ {k}" for k in range(2, unpaired + 1)]
                out += [f"interior asymmetry, ≥ {k}" for k in range(1, abs(left - right) + 1)]
                out += [f"interior shape, {min(left, right)} × {max(left, right)}"] if max(left, right) <= 4 else []
                out += [f"interior mismatch, {ends}", f"interior mismatch, {x[q]}{x[p]} {x[q + 1]}{x[p - 1]}"]
                out += [f"1 × 1 interior loop, {one_way(x[i + 1] + x[j - 1])}"] if left == right == 1 else []
        else:
            out += ["multi-loop, loop"] + ["multi-loop, unpaired base"] * unpaired
            out += ["multi-loop, branch"] * (len(inside) + 1)
            out += [f"3' dangle, {x[i]}{x[j]} {x[i + 1]}", f"5' dangle, {x[i]}{x[j]} {x[j - 1]}"]
            for p, q in inside:
                branch(p, q)
    return out


def split(letters):
    return letters[:2], letters[2:]


def all_structures(x, canonical, least, most):
    """All structures of a sequence, filtered by their loops."""

    @cache
    def between(i, j):
        if i > j:
            return ("",)
        found = ["." + rest for rest in between(i + 1, j)]
        for k in range(i + least + 1, j + 1):
            if not canonical or x[i] + x[k] in PAIRS:
                found += [f"({inner}){rest}" for inner in between(i + 1, k - 1) for rest in between(k + 1, j)]
        return tuple(found)

    def short_loops(structure):
        pairs = pairs_of(structure)
        loops = (branches_between(pairs, i + 1, j - 1) for i, j in pairs.items())
        return all(len(inside) != 1 or unpaired <= most for inside, unpaired in loops)

    return [structure for structure in between(0, len(x) - 1) if short_loops(structure)]


class Folds(Instance):
    """Sequences of 2 to 11 bases, also with unknown ones, lower case and T; random parameters and losses."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        self.least, self.most = int(self.choose(0, 0, 1, 3)), int(self.choose(2, 3, 6, 7, 30))
        self.canonical = bool(rng.integers(4))
        longest = {0: 7, 1: 8, 3: 11}[self.least] - (0 if self.canonical else 2)
        bases = "ACGU" if seed % 2 else "GGCCAUN"
        self.clean = ["".join(rng.choice(list(bases), n)) for n in rng.integers(2, longest + 1, 3)]
        self.clean.append("GC" * (longest // 2) if seed % 3 else "GCC" + "A" * 3 + "GGC")
        self.structures = [all_structures(x, self.canonical, self.least, self.most) for x in self.clean]
        self.Y = [str(rng.choice(some)) for some in self.structures]
        missed, false = (float(rng.integers(0, 4)) * 0.5 for _ in range(2))
        cost = self.choose("recall", {"missed": missed, "false": false})
        self.costs = [self._costs(cost, y) for y in self.Y]
        self.structure = mm.Folding(
            cost=cost, canonical=self.canonical, min_hairpin=self.least, max_loop=self.most
        )  # fmt: skip
        self.X = [self._written(x) for x in self.clean]
        self.encode()
        self.numbers = {name: k for k, name in enumerate(self.structure.feature_names())}
        if seed % 5 == 4:
            self.w = np.abs(self.w)

    def _costs(self, cost, y):
        n_pairs = y.count("(")
        return (1.0 / max(n_pairs, 1), 0.0) if cost == "recall" else (cost["missed"], cost["false"])

    def _written(self, x):
        """The sequence in lower case or as DNA, or with another letter for an unknown base."""
        other = "".join("NRYK"[self.rng.integers(4)] if base == "N" else base for base in x)
        return str(self.choose(other, other.lower(), other.replace("U", "T")))

    def outputs(self, i):
        return self.structures[i]

    def truth(self, i):
        return self.Y[i]

    def psi(self, i, output):
        found = np.zeros(len(self.numbers))
        for name in terms(self.clean[i], output, self.least):
            if name in self.numbers:
                found[self.numbers[name]] += 1.0
            else:
                assert "N" in name.split(", ")[1], name
        return found

    def loss(self, i, output):
        true, found = set(pairs_of(self.Y[i]).items()), set(pairs_of(output).items())
        return self.costs[i][0] * len(true - found) + self.costs[i][1] * len(found - true)

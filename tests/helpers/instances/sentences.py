"""Random sentences for dependency trees."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

import maxmargin as mm
from maxmargin.testing.instance import Instance
from tests.helpers.instances.trees import crosses, reaches_root


class Sentences(Instance):
    """Short sentences with few distinct words and tags; features of arcs as sets of text, made one by one."""

    def __init__(self, seed, projective=False):
        super().__init__(seed)
        self.columns = ["upos", "xpos"][: int(self.rng.integers(0, 3))]
        single_root, min_count = bool(self.rng.integers(2)), int(self.rng.integers(1, 3))
        self.structure = mm.DependencyTree(single_root=single_root, projective=projective, min_count=min_count)
        self.sizes = [3, *self.rng.integers(1, 5, 3).tolist()]
        self.X = [[tuple(self.rng.choice(list("abc"), 1 + len(self.columns)).tolist()) for _ in range(n)]
                  for n in self.sizes]  # fmt: skip
        trees = [[list(y) for y in product(range(n + 1), repeat=n) if reaches_root(y)] for n in self.sizes]
        self._outputs = [
            [y for y in some if not (single_root and y.count(0) > 1) and not (projective and crosses(y))]
            for some in trees
        ]
        self.Y = [self.choose(*outputs) for outputs in self._outputs]
        self.encode()
        self.index = {name: f for f, name in enumerate(self.structure.feature_names().tolist())}
        counts = Counter(name for i, y in enumerate(self.Y) for arc in enumerate(y, 1) for name in self.named(i, *arc))
        assert set(self.index) == {name for name, count in counts.items() if count >= min_count}

    def named(self, i, m, h):
        """The features of the arc from h to m."""
        x, n = self.X[i], self.sizes[i]

        def node(v, c):
            special = {-1: "<before>", 0: "<root>", n + 1: "<after>"}
            return special[v] if v in special else x[v - 1][c]

        places = {"head": h, "child": m, "before head": h - 1, "after head": h + 1, "before child": m - 1,
                  "after child": m + 1}  # fmt: skip
        word = [f"{end} form={node(places[end], 0)}" for end in ("head", "child")]
        sets = [[], word[:1], word[1:], word]
        for c, column in enumerate(self.columns, 1):
            tag = {place: f"{place} {column}={node(v, c)}" for place, v in places.items()}
            head, child, (before, after) = tag["head"], tag["child"], (tag["before head"], tag["after head"])
            left, right = tag["before child"], tag["after child"]
            sets += [[head], [child], [word[0], head], [word[1], child], [head, child], [word[0], child]]
            sets += [[head, word[1]], [word[0], head, child], [head, word[1], child], [word[0], head, word[1]]]
            sets += [[*word, child], [word[0], head, word[1], child], [head, after, child], [before, head, child]]
            sets += [[head, left, child], [head, child, right], [head, after, left, child]]
            sets += [[before, head, left, child], [head, after, child, right], [before, head, child, right]]
        side, distance = "right" if m > h else "left", abs(h - m)
        place = f"{side} {distance if distance < 5 else '5–9' if distance < 10 else '10+'}"
        names = [", ".join(some or ["any arc"]) for some in sets]
        between = {node(v, 1) for v in range(min(h, m) + 1, max(h, m))} if self.columns else set()
        ends = (node(h, 1), node(m, 1)) if self.columns else ()
        inner = [f"{self.columns[0]}: {ends[0]} … {tag} … {ends[1]}, {side}" for tag in between]
        return [*names, *(f"{name}, {place}" for name in names), *inner]

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.Y[i]

    def psi(self, i, output):
        total = np.zeros(len(self.index))
        for m, h in enumerate(output, 1):
            for name in self.named(i, m, h):
                if name in self.index:
                    total[self.index[name]] += 1.0
        return total

    def cells(self, i, output):
        return [(h, m) for m, h in enumerate(output, 1)]

    def loss(self, i, output):
        return float(sum(a != b for a, b in zip(self.Y[i], output, strict=True)))

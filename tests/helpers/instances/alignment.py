"""Random pairs of short sequences for alignments."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

import maxmargin as mm
from maxmargin.testing.instance import Instance


class Alignments(Instance):
    """Short sequences with few letters; features, gaps and losses read from aligned strings, in plain Python."""

    def __init__(self, seed):
        super().__init__(seed)
        self.mode = ("global", "local", "semiglobal")[seed % 3]
        self.features = self.choose("simple", "anova2", "tensor", "window", "profile")
        self.gaps, self.gap_features = self.choose("linear", "affine"), bool(self.rng.integers(2))
        self.cost, self.tolerance = self.choose("recall", "q4", "precision", "columns"), int(self.rng.integers(3))
        self.window = int(self.rng.integers(3))
        self.symmetric = self.choose(True, False, "auto")
        self.core = self.cost in ("recall", "q4") and bool(self.rng.integers(2))
        self.structure = mm.Alignment(
            mode=self.mode, features=self.features, gaps=self.gaps, gap_features=self.gap_features, alphabet="AB",
            cost=self.cost, tolerance=self.tolerance, window=self.window, symmetric=self.symmetric, core=self.core,
        )  # fmt: skip
        self.names = ["residue", *("rs"[: int(self.rng.integers(3))])]
        self.sizes = [(3, 3), *(tuple(self.rng.integers(0, 4, 2).tolist()) for _ in range(3))]
        self.records = [tuple(self.record(n) for n in size) for size in self.sizes]
        self.X = [tuple(self.given(record) for record in pair) for pair in self.records]
        self.every = [list(self.alignments(i)) for i in range(len(self.X))]
        self.truths = [self.choose(*outputs) for outputs in self.every]
        self.counted = [self.some_matches(truth) for truth in self.truths]
        self.Y = list(map(self.marked, self.truths, self.counted))
        self.encode()
        self.index = {name: k for k, name in enumerate(self.structure.feature_names().tolist())}
        assert len(self.index) == self.examples.dim

    def record(self, n):
        """A sequence as text, with annotations."""
        text = "".join(self.rng.choice(["A", "B"], n))
        values = {name: "".join(self.rng.choice(["x", "y"], n)) for name in self.names[1:]}
        return text, values | ({"profile": self.draw(n, 2)} if self.features == "profile" else {})

    def given(self, record):
        """The sequence in one of the forms that users have."""
        text, values = record
        if not values:
            return text
        return ({"sequence": text} | values) if self.rng.integers(2) else (text, values)

    def alignments(self, i):
        """All alignments as strings: with the gaps of the first sequence last, and at semi-global ends also first."""
        (first, _), (second, _) = self.records[i]
        for k in range(min(len(first), len(second)) + 1):
            for rows, cols in product(combinations(range(len(first)), k), combinations(range(len(second)), k)):
                pieces, at, below = [], 0, 0
                for row, col in zip([*rows, len(first)], [*cols, len(second)], strict=True):
                    pieces.append((first[at:row], second[below:col]))
                    at, below = row + 1, col + 1
                ends = {0, k} if self.mode == "semiglobal" and k else set()
                turned = [p for p in ends if all(pieces[p])]
                for flips in product((False, True), repeat=len(turned)):
                    above, under = "", ""
                    for p, (a, b) in enumerate(pieces):
                        one, other = a + "-" * len(b), "-" * len(a) + b
                        if p in turned and flips[turned.index(p)]:
                            one, other = "-" * len(b) + a, b + "-" * len(a)
                        match = (first[rows[p]], second[cols[p]]) if p < k else ("", "")
                        above, under = above + one + match[0], under + other + match[1]
                    yield above, under

    def outputs(self, i):
        return self.every[i]

    def truth(self, i):
        return self.truths[i]

    def some_matches(self, truth):
        """The matches that the loss counts: all, or those of random reliable columns."""
        matches = self.matches(truth)
        kept = {p: q for p, q in matches.items() if not self.core or self.rng.integers(2)}
        return kept or dict(list(matches.items())[:1])

    def marked(self, truth, counted):
        """A true alignment with its reliable columns marked, by lower-case letters in others or by a third string."""
        if not self.core:
            return truth
        p, marks = 0, ""
        for a, b in zip(*truth, strict=True):
            marks += "*" if p in counted and a != "-" != b else "." if a != "-" != b else "-"
            p += a != "-"
        if self.rng.integers(2):
            return (*truth, marks)
        sides = self.rng.integers(1, 4, len(marks))  # one letter of a column suffices
        return tuple(
            "".join(c.lower() if m == "." and s & (k + 1) else c for c, m, s in zip(row, marks, sides, strict=True))
            for k, row in enumerate(truth)
        )

    # ------------------------------------------------------------------ joint features

    def value(self, i, side, name, p, at):
        text, values = self.records[i][side]
        inside = 0 <= p + at < len(text)
        found = (text if name == "residue" else values[name])[p + at] if inside else "other"
        return f"{name}={found}" if not at else f"{name}[{at:+d}]={found}"

    def cell(self, i, p, q):
        """The names of the features of a match, with their values."""
        fields = [[((name, 0),) for name in self.names]]
        if self.features != "simple":
            fields.append([tuple((name, 0) for name in some) for some in combinations(self.names, 2)])
        pairs = [pair for some in fields for pair in product(some, some)]
        if self.features in ("tensor", "window", "profile"):
            pairs += [(t, t) for t in (tuple((name, 0) for name in some) for some in combinations(self.names, 3))]
        if self.features in ("window", "profile"):
            pairs += [(((name, at),),) * 2 for name in self.names for at in range(-self.window, self.window + 1) if at]
            pairs += [(((name, -1), (name, 0), (name, 1)),) * 2 for name in self.names if self.window]

        def named(side, field, position):
            return " & ".join(self.value(i, side, name, position, at) for name, at in field)

        found = {f"{named(0, a, p)} ~ {named(1, b, q)}": 1.0 for a, b in pairs}
        if self.features == "profile":
            columns = [[(f"profile {k}", v) for k, v in enumerate(r[1]["profile"][at])]
                       for r, at in zip(self.records[i], (p, q), strict=True)]  # fmt: skip
            letters = [[(f"residue {r[0][at]}", 1.0)] for r, at in zip(self.records[i], (p, q), strict=True)]
            for one, other in ((columns[0], columns[1]), (columns[0], letters[1]), (letters[0], columns[1])):
                found |= {f"{a} × {b}": u * v for (a, u), (b, v) in product(one, other)}
        return found

    def psi(self, i, output):
        total = np.zeros(len(self.index))
        for kind, p, q, free, extends in self.columns(output):
            if kind == "M":
                for name, value in self.cell(i, p, q).items():
                    total[self.index[name if name in self.index else mirrored(name)]] += value
            elif not free:
                self.count_gap(total, i, kind, p if kind == "A" else q, extends)
        return total

    def cells(self, i, output):
        n = len(self.records[i][0][0])
        for kind, p, q, free, extends in self.columns(output):
            position = p if kind == "A" else n + q
            if kind == "M":
                yield "matches", (p, q)
            elif free:
                yield "ends", position
            else:
                yield "gaps", position if self.gaps == "linear" else (position, int(extends))

    def columns(self, output):
        """(kind, row, column, whether a gap is free, whether it extends another) of each column of an alignment."""
        kinds = ["M" if a != "-" != b else "A" if b == "-" else "B" for a, b in zip(*output, strict=True)]
        matches = [k for k, kind in enumerate(kinds) if kind == "M"]
        free = set()
        if self.mode == "local" or (self.mode == "semiglobal" and not matches):
            free = (
                set(range(matches[0])) | set(range(matches[-1] + 1, len(kinds))) if matches else set(range(len(kinds)))
            )
        elif self.mode == "semiglobal":
            for order in (range(len(kinds)), range(len(kinds) - 1, -1, -1)):
                for k in order:
                    if kinds[k] == "M" or kinds[k] != kinds[order[0]]:
                        break
                    free.add(k)
        p, q, before = 0, 0, "M"
        for k, kind in enumerate(kinds):
            yield kind, p, q, k in free, before == kind and k - 1 not in free
            p, q, before = p + (kind != "B"), q + (kind != "A"), kind

    def count_gap(self, total, i, kind, position, extends):
        suffix = "" if self.gaps == "linear" else " → extend" if extends else " → open"
        total[self.index["gap" + suffix]] += 1.0
        if self.gap_features:
            for name in self.names:
                total[self.index[f"gap, {self.value(i, 'AB'.index(kind), name, position, 0)}{suffix}"]] += 1.0

    # ------------------------------------------------------------------ loss

    @staticmethod
    def matches(output):
        p, q, found = 0, 0, {}
        for a, b in zip(*output, strict=True):
            if a != "-" != b:
                found[p] = q
            p, q = p + (a != "-"), q + (b != "-")
        return found

    def loss(self, i, output):
        true, found = self.counted[i], self.matches(output)
        wrong = sum(true.get(p) != q for p, q in found.items())
        if self.cost == "precision":
            return wrong / max(len(true), 1)
        if self.cost == "columns":
            n, m = self.sizes[i]
            back, found_back = ({q: p for p, q in some.items()} for some in (true, found))
            rows = sum(true.get(p) != found.get(p) for p in range(n))
            return (rows + sum(back.get(q) != found_back.get(q) for q in range(m))) / max(n + m, 1)
        reach = self.tolerance if self.cost == "q4" else 0
        missed = sum(p not in found or abs(found[p] - q) > reach for p, q in true.items())
        return missed / max(len(true), 1)


def mirrored(name):
    """The name of a weight with its two sides swapped, which symmetric structures have in place of some names."""
    mark = next(mark for mark in (" ~ ", " × ") if mark in name)
    return mark.join(name.split(mark)[::-1])


class DecoySets(Alignments):
    """Native sequences with a homologue, whose alignment is latent, and decoys."""

    def __init__(self, seed):
        Instance.__init__(self, seed)
        self.mode = ("global", "local", "semiglobal")[seed % 3]
        self.features, self.gaps = self.choose("simple", "anova2", "window"), self.choose("linear", "affine")
        self.gap_features, self.window = bool(self.rng.integers(2)), 1
        self.structure = mm.Decoys(
            mode=self.mode, features=self.features, gaps=self.gaps, gap_features=self.gap_features, alphabet="AB",
            window=1, symmetric=self.choose(True, False, "auto"),
        )  # fmt: skip
        self.names = ["residue", *("s"[: int(self.rng.integers(2))])]
        self.records, self.firsts, self.X = [], [], []
        for _ in range(3):
            native = self.record(int(self.rng.integers(1, 4)))
            candidates = [self.record(int(n)) for n in self.rng.integers(0, 3, int(self.rng.integers(2, 4)))]
            self.firsts.append(len(self.records))
            self.records += [(native, candidate) for candidate in candidates]
            homologue, *decoys = map(self.given, candidates)
            self.X.append((self.given(native), homologue, decoys))
        self.Y = [None] * 3
        self.encode()
        self.index = {name: k for k, name in enumerate(self.structure.feature_names().tolist())}

    def outputs(self, i):
        n_candidates = 2 + len(self.X[i][2]) - 1
        return [
            mm.outputs.ChosenAlignment(t, y) for t in range(n_candidates) for y in self.alignments(self.firsts[i] + t)
        ]

    def truth(self, i):
        return self.outputs(i)[0]

    def psi(self, i, output):
        return super().psi(self.firsts[i] + output.candidate, output.alignment)

    def loss(self, i, output):
        return float(output.candidate != 0)

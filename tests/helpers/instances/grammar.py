"""Random small grammars: trees with n-ary rules, unary chains, repeated labels and ties, enumerated in plain Python."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
from nltk.tree import Tree

import maxmargin as mm
from maxmargin.testing.instance import Instance

LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (4, "4"), (7, "5–7"), (12, "8–12"), (20, "13–20"))
ALL = ("first", "last", "length", "split", "context", "words")
#: More trees of a sentence than this make an instance slow.
MOST = 60


def leaves(tree):
    return [tree] if isinstance(tree, str) else [leaf for child in tree[1:] for leaf in leaves(child)]


def name_of(child):
    return child if isinstance(child, str) else child[0]


def transformed(tree, annotated, horizontal, parent=""):
    """The tree whose plain rules are those of the grammar: annotated labels, inner nodes of long rules."""
    if isinstance(tree, str):
        return tree
    mark = parent if annotated else ""
    label = f"{tree[0]}^{mark}" if mark else tree[0]
    children = [transformed(child, annotated, horizontal, tree[0]) for child in tree[1:]]
    if horizontal is None or len(children) <= 2:
        return (label, *children)
    rest = children[-1]
    for k in range(len(children) - 2, 0, -1):
        seen = " ".join([mark, "…", *map(name_of, tree[1:][max(0, k - horizontal) : k])]).strip()
        rest = (f"{tree[0]}[{seen}]", children[k], rest)
    return (label, children[0], rest)


def restored(tree):
    """The trees that a transformed tree stands for: several below an inner node."""
    if isinstance(tree, str):
        return [tree]
    children = [below for child in tree[1:] for below in restored(child)]
    return children if "[" in tree[0] else [(tree[0].split("^")[0], *children)]


def spans_of(tree):
    """All (node, begin, end, begin of the last child) of a tree of tags."""
    out = []

    def walk(node, i):
        if isinstance(node, str):
            return i + 1
        j = last = i
        for child in node[1:]:
            last, j = j, walk(child, j)
        out.append((node, i, j, last))
        return j

    walk(tree, 0)
    return out


def constituents(tree):
    return Counter((node[0], i, j) for node, i, j, _ in spans_of(tree) if node[0] != "TOP")


class Plain:
    """A plain grammar: rules, chains and roots of trees, and all trees over tags."""

    def __init__(self, trees):
        self.rules, self.chains, self.starts = {}, set(), []
        for tree in trees:
            if tree[0] not in self.starts:
                self.starts.append(tree[0])
            for node, *_ in spans_of(tree):
                if len(node) > 2:
                    self.rules.setdefault(node[0], set()).add(tuple(map(name_of, node[1:])))
                    continue
                chain = [node[0]]
                while not isinstance(node, str) and len(node) == 2:
                    node = node[1]
                    chain.append(name_of(node))
                self.chains.add(tuple(chain))

    def trees(self, tags):
        @cache
        def below(symbol, i, j):
            found = [tags[i]] if j == i + 1 and tags[i] == symbol else []
            return found + [(symbol, *row) for right in self.rules.get(symbol, ()) for row in rows(right, i, j)]

        @cache
        def whole(symbol, i, j):
            found = list(below(symbol, i, j))
            for chain in self.chains:
                if chain[0] == symbol:
                    for tree in below(chain[-1], i, j):
                        for upper in chain[-2::-1]:
                            tree = (upper, tree)
                        found.append(tree)
            return found

        @cache
        def rows(right, i, j):
            if len(right) == 1:
                return [(tree,) for tree in whole(right[0], i, j)]
            return [(head, *tail) for k in range(i + 1, j) for tail in rows(right[1:], k, j)
                    for head in whole(right[0], i, k)]  # fmt: skip

        return [tree for start in self.starts for tree in whole(start, 0, len(tags))]


class Treebank(Instance):
    """Random trees; the first two sentences have several trees."""

    def __init__(self, seed, cost=None):
        super().__init__(seed)
        labels, tags = self.choose("AB", "ABC"), self.choose("pq", "pqr")
        self.annotated, self.horizontal = bool(self.rng.integers(4) == 0), self.choose(None, None, 0, 1)
        self.kind, self.words = self.choose("brackets", "tuples", "nltk"), bool(self.rng.integers(2))
        self.templates = self.choose((), (), ALL, ("length", "context"), ("split",), ("first", "last", "words"))
        self.cost = cost or self.choose("f1", "constituents", "zero-one")
        self.structure = mm.Grammar(
            cost=self.cost, parent_annotation=self.annotated, horizontal=self.horizontal,
            span_features=self.templates or False, leaves="words" if self.words else "tags",
        )  # fmt: skip
        while not self.make(labels, tags):
            pass
        self.X = [[(word, tag) for tag, word in some] if self.words else [tag for tag, _ in some]
                  for some in self.tokens]  # fmt: skip
        self.Y = [self.truth(i) for i in range(len(self.trees))]
        self.encode()
        self.index = {name: f for f, name in enumerate(self.structure.feature_names().tolist())}
        assert len(self.index) == self.examples.dim

    def tree(self, depth, labels, tags, top=True):
        if not top and (depth == 0 or self.rng.random() < 0.35):
            return str(self.rng.choice(list(tags)))
        n = int(self.rng.choice([1, 2, 2, 3] if depth < 3 else [1, 2, 3, 4]))
        return (str(self.rng.choice(list(labels))), *(self.tree(depth - 1, labels, tags, False) for _ in range(n)))

    def make(self, labels, tags):
        trees = []
        while len(trees) < 4:
            tree = self.tree(3, labels, tags)
            if 1 <= len(leaves(tree)) <= 5:
                trees.append(("TOP", tree) if self.rng.integers(3) else tree)
        self.trees = trees
        self.tokens = [[(tag, str(self.rng.choice(list("uvw")))) for tag in leaves(tree)] for tree in trees]
        plain = Plain([transformed(tree, False, self.horizontal) for tree in trees])  # annotations forbid no tree
        self.derived = [
            [
                transformed(restored(found)[0], self.annotated, self.horizontal)
                for found in plain.trees(tuple(leaves(tree)))
            ]
            for tree in trees
        ]
        return max(map(len, self.derived)) <= MOST and sum(map(len, self.derived)) > 6

    # ------------------------------------------------------------------ trees as users see them

    def as_output(self, i, tree):
        tokens = iter(self.tokens[i])

        def build(node):
            if isinstance(node, str):
                tag, word = next(tokens)
                return (tag, word) if self.words else tag
            return (node[0], *map(build, node[1:]))

        def as_nltk(node):
            return node if isinstance(node, str) else Tree(node[0], [as_nltk(child) for child in node[1:]])

        def as_text(node):
            return node if isinstance(node, str) else f"({' '.join([node[0], *map(as_text, node[1:])])})"

        whole = build(tree)
        return {"tuples": lambda: whole, "nltk": lambda: as_nltk(whole), "brackets": lambda: as_text(whole)}[
            self.kind
        ]()

    def outputs(self, i):
        return [self.as_output(i, restored(tree)[0]) for tree in self.derived[i]]

    def truth(self, i):
        return self.as_output(i, self.trees[i])

    def bare(self, i, output):
        """The transformed tree of an output."""
        if not hasattr(self, "_bare"):
            self._bare = [{self.name(self.as_output(i, restored(t)[0])): t for t in some}
                          for i, some in enumerate(self.derived)]  # fmt: skip
        return self._bare[i][self.name(output)]

    def cells(self, i, output):
        labels = self.structure.rules_.labels
        found = constituents(restored(self.bare(i, output))[0])
        return [(a, b, labels.index(label)) for label, a, b in found if label in labels]

    # ------------------------------------------------------------------ Ψ and Δ

    def psi(self, i, output):
        tree = self.bare(i, output)
        names = [f"{node[0]} → {' '.join(map(name_of, node[1:]))}" for node, *_ in spans_of(tree)]
        for node, a, b, k in spans_of(tree):
            label = node[0].split("^")[0]
            if label != "TOP" and "[" not in label:
                names += [f"{name} → {label}" for name in self.named(i, a, b, k if len(node) > 2 else None)]
        total = [0.0] * len(self.index)
        for name in names:
            if name in self.index:
                total[self.index[name]] += 1.0
        return np.array(total)

    def named(self, i, a, b, k):
        """The features of a constituent on (a, b) whose last child begins at k."""
        used, words = self.templates, "words" in self.templates
        tag = dict(enumerate(t for t, _ in self.tokens[i])) | {-1: "<before>", len(self.tokens[i]): "<after>"}
        word = dict(enumerate(w for _, w in self.tokens[i])) | {-1: "<before>", len(self.tokens[i]): "<after>"}
        if not self.words:
            word = {m: w if w.startswith("<") else "<unknown>" for m, w in word.items()}
        names = []
        if "first" in used:
            names += [f"first tag={tag[a]}"] + [f"first word={word[a]}"] * words
        if "last" in used:
            names += [f"last tag={tag[b - 1]}"] + [f"last word={word[b - 1]}"] * words
        if {"first", "last"} <= set(used):
            names.append(f"first tag={tag[a]}, last tag={tag[b - 1]}")
        if "length" in used:
            names.append(f"length {self.bucket(b - a)}")
        if "context" in used:
            names += [f"tag before={tag[a - 1]}", f"tag before={tag[a - 1]}, first tag={tag[a]}", f"tag after={tag[b]}",
                      f"last tag={tag[b - 1]}, tag after={tag[b]}",
                      f"tag before={tag[a - 1]}, tag after={tag[b]}"]  # fmt: skip
            names += [f"word before={word[a - 1]}", f"word after={word[b]}"] * words
        if "split" in used and k is not None:
            names += [f"tag before split={tag[k - 1]}", f"tag after split={tag[k]}",
                      f"tags at split={tag[k - 1]} {tag[k]}"]  # fmt: skip
            names += [f"word before split={word[k - 1]}", f"word after split={word[k]}"] * words
            if "length" in used:
                names.append(f"lengths at split {self.bucket(k - a)}, {self.bucket(b - k)}")
        return names

    @staticmethod
    def bucket(length):
        return next((name for most, name in LENGTHS if length <= most), "21+")

    def loss(self, i, output):
        found = restored(self.bare(i, output))[0]
        if self.cost == "zero-one":
            return float(found != self.trees[i])
        true, other = constituents(self.trees[i]), constituents(found)
        matched, both = (true & other).total(), true.total() + other.total()
        if self.cost == "constituents":
            return float(both - 2 * matched)
        return 1.0 - 2.0 * matched / both if both else 0.0

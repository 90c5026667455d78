"""Hierarchies of classes: trees, or directed graphs without cycles, with one root.

People have a dict of parents, a list of edges, a networkx graph, or paths such as ``"animal/mammal/dog"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.ragged import offsets_of, split_rows
from maxmargin._base.types import CodeArray, IntArray
from maxmargin.features.rows.labels import hashable_label, is_missing, plain_label

#: Separator of the names in a path.
SEPARATOR = "/"
#: Label of a root that the user did not name; it is not a valid label.
UNNAMED = None

_FORMS = (
    "a dict of parents by child, a list of (parent, child) pairs, a networkx graph, a list of paths such as 'a/b/c', "
    "the separator of labels that are paths, or None"
)

Edges = list[tuple[Any, Any]]


class Hierarchy:
    """Nodes in an order in which parents come before their children; node 0 is the root.

    Parameters
    ----------
    nodes : list
        Label of each node; None for a root without a name.
    parents : list of list of int
        Numbers of the parents of each node, in ascending order.

    Attributes
    ----------
    codes : dict
        Number of each node by label.
    n_children : ndarray of int
        Number of children of each node.
    heights : ndarray of int
        Edges on the longest way down from each node; 0 for leaves.
    """

    def __init__(self, nodes: list[Any], parents: list[list[int]]) -> None:
        self.nodes, self.parents = nodes, parents
        self.codes = {node: z for z, node in enumerate(nodes)}
        self.n_children, self.heights = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        for z in reversed(range(len(nodes))):
            for parent in parents[z]:
                self.n_children[parent] += 1
                self.heights[parent] = max(self.heights[parent], self.heights[z] + 1)

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def of_edges(cls, edges: Edges, nodes: Iterable[Any] = ()) -> Hierarchy:
        """Return the hierarchy with these (parent, child) pairs; raise ValueError for a cycle or several roots.

        Nodes that are in no pair are listed in `nodes`.
        """
        children: dict[Any, list[Any]] = {node: [] for node in nodes}
        waiting: dict[Any, int] = {}
        for parent, child in dict.fromkeys(edges):
            children.setdefault(parent, []).append(child)
            children.setdefault(child, [])
            waiting[child] = waiting.get(child, 0) + 1
        roots = [node for node in children if node not in waiting]
        if len(roots) > 1:
            raise ValueError(
                f"hierarchy: expected one root, found {len(roots)}: {', '.join(map(repr, roots[:5]))}"
                f"{', …' if len(roots) > 5 else ''}; add a node above them, or swap parents and children if these "
                f"are leaves (pairs are (parent, child), a dict has the parents of each child)"
            )
        order = list(roots)
        for node in order:
            for child in children[node]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    order.append(child)
        if len(order) < len(children):
            raise ValueError(f"hierarchy: expected no cycles, found {_cycle(children, set(order))}")
        codes = {node: z for z, node in enumerate(order)}
        parents: list[list[int]] = [[] for _ in order]
        for parent in order:
            for child in children[parent]:
                parents[codes[child]].append(codes[parent])
        return cls(order, [sorted(above) for above in parents])

    @classmethod
    def flat(cls, labels: Iterable[Any]) -> Hierarchy:
        """Return the hierarchy in which all labels are children of a root without a name."""
        nodes = list(labels)
        return cls([UNNAMED, *nodes], [[], *([0] for _ in nodes)])

    def leaves(self) -> list[Any]:
        """Return the labels of all nodes without children."""
        return [node for node, n in zip(self.nodes, self.n_children.tolist(), strict=True) if n == 0]

    def named(self) -> list[Any]:
        """Return the labels of all nodes that have one."""
        return self.nodes if self.nodes[0] is not UNNAMED else self.nodes[1:]

    def children(self, label: Any) -> list[Any]:
        """Return the labels of the children of a node."""
        z = self.codes[label]
        return [node for node, above in zip(self.nodes, self.parents, strict=True) if z in above]

    def ancestors(self, labels: Iterable[Any]) -> tuple[IntArray, IntArray]:
        """Return the ancestors of each label, itself included, as pointers and ascending node numbers."""
        above: list[IntArray] = []
        for z, parents in enumerate(self.parents):
            above.append(np.unique(np.concatenate([np.array([z]), *(above[parent] for parent in parents)])))
        ancestors = [above[self.codes[label]] for label in labels]
        pointers = offsets_of([len(nodes) for nodes in ancestors])
        return pointers, np.concatenate([*ancestors, np.zeros(0, np.int64)])

    def get_state(self) -> dict[str, Any]:
        """Return nodes and parents as plain values, as `from_state` expects them."""
        counts = np.array([len(above) for above in self.parents], np.int32)
        flat = np.array([parent for above in self.parents for parent in above], np.int32)
        return {"nodes": self.nodes, "counts": counts, "parents": flat}

    @classmethod
    def from_state(cls, state: Any) -> Hierarchy:
        """Return the hierarchy of a state; raise ValueError if it is damaged."""
        nodes, counts, flat = state["nodes"], np.asarray(state["counts"]), np.asarray(state["parents"])
        fits = isinstance(nodes, list) and counts.shape == (len(nodes),) and len(set(nodes)) == len(nodes) > 0
        if not fits or (counts < 0).any() or counts.sum() != len(flat):
            raise ValueError("a hierarchy must be distinct nodes with their parents")
        parents = split_rows(flat.tolist(), counts)
        if any(not 0 <= parent < z for z, above in enumerate(parents) for parent in above) or not all(parents[1:]):
            raise ValueError("the parents of a node must come before it")
        return cls(nodes, parents)


def _cycle(children: dict[Any, list[Any]], done: set[Any]) -> str:
    """Return a cycle as text; only nodes on cycles and below them are not done."""
    above: dict[Any, Any] = {}
    for parent, below in children.items():
        if parent not in done:
            above |= dict.fromkeys(below, parent)
    node, seen = next(child for child in children if child not in done), []
    while node not in seen:
        seen.append(node)
        node = above[node]
    around = [node, *reversed(seen[seen.index(node) :])]
    return " → ".join(map(repr, around))


def read_hierarchy(given: Any, labels: list[Any]) -> Hierarchy:
    """Return a hierarchy from what users have.

    Parameters
    ----------
    given : dict, list, networkx graph, str or None
        As in `Taxonomy`.
    labels : list
        The distinct labels of the data, which are the classes if `given` is None, and paths if it is a separator.
        Labels may be the last names of paths.
    """
    given = _table_rows(given)
    if given is None:
        return Hierarchy.flat(labels)
    if isinstance(given, str):
        return Hierarchy.of_edges(_path_edges(labels, given, "the labels"))
    if not is_graph(given) and _are_paths(given):
        return Hierarchy.of_edges(_shortened(_path_edges(list(given), SEPARATOR, "hierarchy"), labels))
    return Hierarchy.of_edges(_edges(given), _lone_nodes(given))


def check_hierarchy(given: Any) -> None:
    """Raise ValueError if a hierarchy is invalid, before any data are read."""
    if isinstance(given, str) and not given:
        raise ValueError("hierarchy: expected a separator such as '/', found an empty string")
    if given is not None and not isinstance(given, str):
        read_hierarchy(given, [])


def check_separator(separator: str, labels: list[Any]) -> None:
    """Raise ValueError if no label has a separator: the hierarchy would be flat."""
    if labels and not any(isinstance(label, str) and separator in label for label in labels):
        raise ValueError(
            f"hierarchy={separator!r}: expected labels that are paths with {separator!r} between the names, but no "
            f"label contains it, for example {labels[0]!r:.60}; pass the separator of the labels, or None"
        )


def plain_hierarchy(given: Any) -> Any:
    """Return a hierarchy as plain values, which can be saved: a graph as a list of edges, others unchanged."""
    return _edges(given) if is_graph(given) else _table_rows(given)


def _table_rows(given: Any) -> Any:
    """Return the rows of a data frame, (parent, child) pairs, as a list; anything else unchanged.

    Columns with the names parent and child are read by name, so their order does not matter.
    """
    if not hasattr(given, "itertuples"):
        return given
    named = ["parent", "child"]
    table = given[named] if set(named) <= set(given.columns) else given
    return list(table.itertuples(index=False, name=None))


def is_graph(given: Any) -> bool:
    """Return whether a value is a graph of networkx."""
    return hasattr(given, "edges") and callable(getattr(given, "is_directed", None))


def _are_paths(given: Any) -> bool:
    return is_list(given) and len(given) > 0 and all(isinstance(path, str) for path in given)


def _edges(given: Any) -> Edges:
    """Return the (parent, child) pairs of a dict, a list of pairs, or a graph."""
    if isinstance(given, Mapping):
        pairs = [(parent, child) for child, parents in given.items() for parent in _parents(parents, given)]
    elif is_graph(given):
        if not given.is_directed():
            raise ValueError("hierarchy: expected a directed graph with edges from parents to children")
        pairs = [(parent, child) for parent, child, *_ in given.edges]
    elif is_list(given):
        pairs = [_pair(pair, i) for i, pair in enumerate(given)]
    else:
        raise ValueError(f"hierarchy must be {_FORMS}, found {type(given).__name__} {given!r:.60}")
    if not pairs:
        raise ValueError("hierarchy: expected at least one pair of a parent and a child, found none")
    return [(_label(parent), _label(child)) for parent, child in pairs]


def _lone_nodes(given: Any) -> list[Any]:
    """Return nodes that a dict or a graph has without a parent."""
    if isinstance(given, Mapping):
        return [_label(child) for child, parents in given.items() if not _parents(parents, given)]
    return [_label(node) for node in given.nodes] if is_graph(given) else []


def _parents(parents: Any, given: Mapping[Any, Any]) -> list[Any]:
    """Return the parents of a node: none, one, or several; a tuple is one label if nodes of the dict are tuples."""
    if parents is None:
        return []
    if isinstance(parents, Mapping):
        raise ValueError(f"hierarchy: expected a dict with the parents of each child, found the value {parents!r:.60}")
    if isinstance(parents, tuple):
        return [parents] if any(isinstance(child, tuple) for child in given) else list(parents)
    return list(parents) if isinstance(parents, list | set | frozenset | np.ndarray) else [parents]


def _pair(pair: Any, i: int) -> tuple[Any, Any]:
    if not is_list(pair) or len(pair) != 2:
        raise ValueError(f"hierarchy[{i}]: expected a (parent, child) pair, found {pair!r:.60}")
    return pair[0], pair[1]


def _label(value: Any) -> Any:
    label = hashable_label(plain_label(value))
    if is_missing(label):
        raise ValueError(f"hierarchy: expected labels of nodes, found {label!r}")
    return label


def _path_edges(paths: list[Any], separator: str, what: str) -> Edges:
    """Return the edges between all beginnings of paths, below a root without a name if they have no common one.

    Paths may begin with a separator, ``"/a/b"``, as names of files do.
    """
    edges: dict[tuple[Any, Any], None] = {}
    tops: dict[str, None] = {}
    for path in paths:
        start = separator if isinstance(path, str) and path.startswith(separator) else ""
        names = path.removeprefix(start).split(separator) if isinstance(path, str) else [""]
        if not all(names):
            raise ValueError(f"{what}: expected a path of names with {separator!r} between them, found {path!r:.60}")
        nodes = [start + separator.join(names[: k + 1]) for k in range(len(names))]
        tops[nodes[0]] = None
        edges |= dict.fromkeys(pairwise(nodes))
    if len(tops) > 1 or not edges:
        return [*((UNNAMED, top) for top in tops), *edges]
    return list(edges)


def _shortened(edges: Edges, labels: list[Any]) -> Edges:
    """Return the edges with nodes renamed to their last names if the labels of the data are such names.

    All nodes are renamed if a label is the last name of an inner node, otherwise only leaves.
    """
    parents, nodes = {parent for parent, _ in edges}, {node for edge in edges for node in edge}
    if all(label in nodes for label in labels):
        return edges
    short = {node: node.rsplit(SEPARATOR, 1)[-1] for node in nodes if node is not UNNAMED}
    inner = {short[node] for node in parents - {UNNAMED} if short[node] != node}
    if len(set(short.values())) == len(short) and inner & set(labels):
        return [(short.get(parent, parent), short[child]) for parent, child in edges]
    leaves = [child for child in dict.fromkeys(child for _, child in edges) if child not in parents]
    last = {leaf: leaf.rsplit(SEPARATOR, 1)[-1] for leaf in leaves}
    taken = nodes - set(leaves)
    if len(set(last.values())) < len(leaves) or taken & set(last.values()) or not set(last.values()) & set(labels):
        return edges
    return [(parent, last.get(child, child)) for parent, child in edges]


def tree_losses(hierarchy: Hierarchy, pointers: IntArray, ancestors: IntArray) -> CodeArray:
    """Return the height of the first common ancestor of all pairs of classes; 0 on the diagonal.

    Where there are several common ancestors of which none is above another, the lowest counts.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy.
    pointers, ancestors : ndarray of int
        The ancestors of each class, as `Hierarchy.ancestors` returns them.
    """
    n_classes = len(pointers) - 1
    owner = np.repeat(np.arange(n_classes), np.diff(pointers))
    by_node = np.argsort(ancestors, kind="stable")
    starts = np.searchsorted(ancestors[by_node], np.arange(len(hierarchy) + 1))
    losses = np.full((n_classes, n_classes), hierarchy.heights[0], np.int32)
    for z in np.argsort(-hierarchy.heights, kind="stable").tolist():  # lower nodes overwrite higher ones
        below = owner[by_node[starts[z] : starts[z + 1]]]
        losses[np.ix_(below, below)] = hierarchy.heights[z]
    np.fill_diagonal(losses, 0)
    return losses

"""Graphs of networkx as edges and features; networkx is recognised without being imported."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import IntArray


class NamedGraph(NamedTuple):
    """A graph whose nodes have names.

    Attributes
    ----------
    names : list
        The nodes, in the order of the graph.
    edges : ndarray of int64 of shape (m, 2)
        Both ends of each edge, in the order of the graph, as positions in `names`.
    node_rows, edge_rows : list of dict
        Features of nodes and edges: their attributes.
    """

    names: list[Any]
    edges: IntArray
    node_rows: list[dict[str, float]]
    edge_rows: list[dict[str, float]]


def is_networkx(x: Any) -> bool:
    """Return whether x is a graph of networkx, or of a class derived from one."""
    return any(kind.__module__.split(".")[0] == "networkx" for kind in type(x).__mro__) and hasattr(x, "adj")


def read_networkx(graph: Any, where: Where, ignored: frozenset[str] = frozenset()) -> NamedGraph:
    """Return the nodes and edges of a graph, with their attributes as features.

    A number is the value of a feature, True is 1; a text is a feature of its own, ``"name=text"``; an array has a
    feature for each entry. Attributes of nodes in `ignored` are not read.
    """
    names = list(graph.nodes)
    position = {name: v for v, name in enumerate(names)}
    ends = [(position[a], position[b]) for a, b, _ in graph.edges(data=True)]
    node_rows = [
        _row({k: v for k, v in data.items() if k not in ignored}, f"node {name!r:.40}", where)
        for name, data in graph.nodes(data=True)
    ]
    edge_rows = [_row(data, f"edge ({a!r:.40}, {b!r:.40})", where) for a, b, data in graph.edges(data=True)]
    return NamedGraph(names, np.array(ends, np.int64).reshape(-1, 2), node_rows, edge_rows)


def _row(attributes: dict[Any, Any], what: str, where: Where) -> dict[str, float]:
    """Return attributes as named features."""
    row: dict[str, float] = {}
    for name, value in attributes.items():
        if isinstance(value, str):
            row[f"{name}={value}"] = 1.0
        elif isinstance(value, numbers.Real | np.bool_):
            row[str(name)] = float(value)
        elif isinstance(value, np.ndarray | list | tuple) and np.asarray(value).dtype.kind in "biuf":
            row |= {f"{name}[{k}]": v for k, v in enumerate(np.ravel(np.asarray(value, float)).tolist())}
        else:
            raise error_at(
                where,
                f"{what}: the attribute {name!r} is {type(value).__name__} {value!r:.40}, expected a number, a text or "
                f"an array of numbers; remove it, or give features as arrays",
            )
    return row


def arc_lists(graph: Any, directed: bool, where: Where) -> list[list[Any]]:
    """Return features x[i][j] of the arcs of a graph by positions of nodes, None where there is no arc.

    An edge of an undirected graph is an arc in both directions; without attributes it has a feature of value 1.
    """
    if graph.is_directed() and not directed:
        raise error_at(where, "a directed graph, expected an undirected one; use graph.to_undirected()")
    read = read_networkx(graph, where)
    lists: list[list[Any]] = [[None] * len(read.names) for _ in read.names]
    empty = not any(read.edge_rows)
    for (a, b), row in zip(read.edges.tolist(), read.edge_rows, strict=True):
        lists[a][b] = {"edge": 1.0} if empty else row
        if not graph.is_directed():
            lists[b][a] = lists[a][b]
    return lists


def two_sides(graph: Any, where: Where) -> tuple[list[list[Any]], list[Any], list[Any], list[dict[str, float]]]:
    """Return features x[i][k] of the pairs of a bipartite graph, the names of both sides, and features of left nodes.

    Nodes have the attribute ``bipartite``, 0 for left and 1 for right nodes, as networkx has it.
    """
    sides: tuple[list[Any], list[Any]] = [], []
    for name, data in graph.nodes(data=True):
        if data.get("bipartite") not in (0, 1):
            raise error_at(where, f"node {name!r:.40} needs the attribute bipartite=0 (left) or bipartite=1 (right)")
        sides[data["bipartite"]].append(name)
    read = read_networkx(graph, where, frozenset({"bipartite"}))
    place = {name: (side, v) for side, names in enumerate(sides) for v, name in enumerate(names)}
    lists: list[list[Any]] = [[None] * len(sides[1]) for _ in sides[0]]
    empty = not any(read.edge_rows)
    for (a, b), row in zip(read.edges.tolist(), read.edge_rows, strict=True):
        (side, left), (other, right) = sorted((place[read.names[a]], place[read.names[b]]))
        if side == other:
            raise error_at(where, f"the edge ({read.names[a]!r:.40}, {read.names[b]!r:.40}) joins nodes of one side")
        lists[left][right] = {"edge": 1.0} if empty else row
    rows = dict(zip(read.names, read.node_rows, strict=True))
    return lists, sides[0], sides[1], [rows[name] for name in sides[0]]

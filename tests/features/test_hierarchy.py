"""Hierarchies in all forms that people have, and those that cannot be used."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from maxmargin.features.rows.hierarchy import Hierarchy, check_hierarchy, read_hierarchy, tree_losses
from maxmargin.metrics import tree_loss

PARENTS = {"dog": "mammal", "cat": "mammal", "owl": "bird", "mammal": "animal", "bird": "animal"}
EDGES = [(parent, child) for child, parent in PARENTS.items()]


def shape(hierarchy):
    """The set of edges, and the root."""
    edges = {(hierarchy.nodes[p], hierarchy.nodes[z]) for z, above in enumerate(hierarchy.parents) for p in above}
    return hierarchy.nodes[0], edges


@pytest.mark.parametrize(
    "given",
    [
        PARENTS,
        PARENTS | {"animal": None},
        {child: [parent] for child, parent in PARENTS.items()},
        {child: (parent,) for child, parent in PARENTS.items()},
        pd.DataFrame(EDGES, columns=["parent", "child"]),
        EDGES,
        EDGES[::-1] + EDGES[:2],
        np.array(EDGES),
        nx.DiGraph(EDGES),
        nx.MultiDiGraph([*EDGES, EDGES[0]]),
    ],
)
def test_forms_of_the_same_tree(given):
    assert shape(read_hierarchy(given, [])) == ("animal", set(EDGES))


def test_paths_and_last_names():
    paths = ["animal/mammal/dog", "animal/mammal/cat", "animal/bird/owl"]
    whole = read_hierarchy(paths, ["animal/bird/owl"])
    assert whole.nodes[0] == "animal"
    assert sorted(whole.leaves()) == sorted(paths)
    assert sorted(read_hierarchy(paths, ["dog"]).leaves()) == ["cat", "dog", "owl"]
    assert sorted(read_hierarchy(np.array(paths), ["dog"]).leaves()) == ["cat", "dog", "owl"]
    same = ["a/x", "b/x"]  # last names that are not unique are not used
    assert read_hierarchy(same, ["x"]).leaves() == same
    joined = read_hierarchy(":", ["A:x", "A:y", "B:z"])
    assert joined.nodes[0] is None
    assert sorted(joined.named()) == ["A", "A:x", "A:y", "B", "B:z"]
    assert shape(read_hierarchy(["a", "b"], [])) == (None, {(None, "a"), (None, "b")})
    assert read_hierarchy("/", ["a", "a/b"]).leaves() == ["a/b"]
    absolute = read_hierarchy("/", ["/A/x", "/A/y", "/B/z"])
    assert shape(absolute) == (None, {(None, "/A"), (None, "/B"), ("/A", "/A/x"), ("/A", "/A/y"), ("/B", "/B/z")})
    assert sorted(read_hierarchy(["/A/x", "/B/y"], ["x"]).leaves()) == ["x", "y"]


def test_last_names_of_inner_nodes():
    paths = ["animal/mammal/dog", "animal/mammal/cat", "animal/bird/owl"]
    assert shape(read_hierarchy(paths, ["dog", "mammal"])) == ("animal", set(EDGES))
    assert shape(read_hierarchy(["/A/B/x", "/C/y"], ["x", "B"])) == (
        None, {(None, "A"), (None, "C"), ("A", "B"), ("B", "x"), ("C", "y")},
    )  # fmt: skip
    assert "r/a/x" in read_hierarchy(["r/a/x/d", "r/b/x/e"], ["d", "x"]).nodes  # two inner nodes are called x


def test_columns_of_a_data_frame_are_read_by_name():
    table = pd.DataFrame(EDGES, columns=["parent", "child"])
    for given in (table[["child", "parent"]], table.assign(note="")):
        assert shape(read_hierarchy(given, [])) == ("animal", set(EDGES))


def test_integers_and_several_parents():
    lattice = read_hierarchy({3: [1, 2], 1: 0, 2: np.array([0]), np.int64(4): 2}, [])
    pointers, ancestors = lattice.ancestors([3, 4])
    found = [{lattice.nodes[z] for z in ancestors[a:b]} for a, b in pairwise(pointers)]
    assert found == [{0, 1, 2, 3}, {0, 2, 4}]
    assert lattice.heights[lattice.codes[0]] == 2


def test_tuples_are_parents_unless_nodes_are_tuples():
    assert shape(read_hierarchy({"c": ("a", "b"), "a": "r", "b": "r"}, []))[1] == {
        ("a", "c"), ("b", "c"), ("r", "a"), ("r", "b"),
    }  # fmt: skip
    assert shape(read_hierarchy({("x", 1): ("x",), ("x", 2): ("x",)}, [])) == (
        ("x",),
        {(("x",), ("x", 1)), (("x",), ("x", 2))},
    )


def test_tree_losses_by_hand():
    tree = read_hierarchy({**PARENTS, "rock": "thing", "animal": "thing"}, [])
    classes = ["dog", "cat", "owl", "rock", "mammal"]
    expected = [[0, 1, 2, 3, 1], [1, 0, 2, 3, 1], [2, 2, 0, 3, 2], [3, 3, 3, 0, 3], [1, 1, 2, 3, 0]]
    np.testing.assert_array_equal(tree_losses(tree, *tree.ancestors(classes)), expected)


def test_the_lowest_common_ancestor_of_a_lattice_counts():
    lattice = read_hierarchy([("r", "high"), ("high", "m"), ("m", "a"), ("m", "b"), ("r", "low"), ("low", "a"),
                              ("low", "b"), ("high", "low")], [])  # fmt: skip
    assert tree_losses(lattice, *lattice.ancestors(["a", "b"])).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "b")], "expected no cycles, found 'b' → 'c' → 'b'"),
        ([("a", "b"), ("b", "a")], "expected no cycles, found"),
        ([("a", "a")], "expected no cycles, found 'a' → 'a'"),
        ({"a": "b", "b": "a", "c": "r"}, "expected no cycles, found"),
        ([("a", "b"), ("c", "d")], "expected one root, found 2: 'a', 'c'; add a node above them"),
        ({"a": ["b", "c"]}, "swap parents and children if these are leaves (pairs are"),
        ({"a": {"b": {}}}, "expected a dict with the parents of each child, found the value {'b': {}}"),
        ({"b": "a", "d": None}, "expected one root, found 2: 'd', 'a'"),
        (nx.DiGraph([("a", "b"), ("c", "c2")]), "expected one root, found 2: 'a', 'c'"),
        (nx.Graph(EDGES), "expected a directed graph with edges from parents to children"),
        ([], "expected at least one pair of a parent and a child, found none"),
        ({}, "expected at least one pair of a parent and a child, found none"),
        ([("a", "b", "c")], "hierarchy[0]: expected a (parent, child) pair, found ('a', 'b', 'c')"),
        ([("a", "b"), "cd", 3], "hierarchy[1]: expected a (parent, child) pair, found 'cd'"),
        ([("a", None)], "expected labels of nodes, found None"),
        ([("a", float("nan"))], "expected labels of nodes, found nan"),
        ([(["a"], "b")], "labels must be hashable"),
        (["a/b", "a//c"], "expected a path of names with '/' between them, found 'a//c'"),
        (["a/"], "expected a path of names with '/' between them, found 'a/'"),
        (["//a"], "expected a path of names with '/' between them, found '//a'"),
        ("", "expected a separator such as '/', found an empty string"),
        (3, "hierarchy must be a dict of parents by child"),
    ],
)
def test_bad_hierarchies(given, message):
    with pytest.raises(ValueError) as error:
        check_hierarchy(given)
    assert message in str(error.value)


def test_saved_and_damaged():
    tree = read_hierarchy(PARENTS, [])
    state = tree.get_state()
    assert shape(Hierarchy.from_state(state)) == shape(tree)
    for damage in (
        {"nodes": state["nodes"][:-1]},
        {"nodes": ["dog"] * len(state["nodes"])},
        {"parents": state["parents"] + 9},
        {"counts": state["counts"] * 2},
        {"counts": np.roll(state["counts"], 1)},
    ):
        with pytest.raises(ValueError, match=r"hierarchy must be distinct nodes|parents of a node must come before it"):
            Hierarchy.from_state(state | damage)


def test_mean_tree_loss():
    true, found = ["dog", "dog", "owl", "owl"], ["dog", "cat", "dog", "owl"]
    assert tree_loss(true, found, hierarchy=PARENTS) == 0.75
    assert tree_loss(true, found, hierarchy=PARENTS, sample_weight=[1, 2, 1, 0]) == 1.0
    assert tree_loss(true, found, hierarchy=None) == 0.5
    with pytest.raises(ValueError, match=r"y_pred\[0\]: class 'fish' is not in the hierarchy"):
        tree_loss(["dog"], ["fish"], hierarchy=PARENTS)
    with pytest.raises(ValueError, match="y_true has 1 classes but y_pred has 2"):
        tree_loss(["dog"], ["dog", "cat"], hierarchy=PARENTS)

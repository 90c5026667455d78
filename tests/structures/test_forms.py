"""Outputs of decisions in every form: the same weights, predictions in the form of training, saved with the model."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import maxmargin as mm


def knapsacks(rng):
    X = [(rng.normal(size=(5, 2)), rng.integers(1, 5, 5), 7) for _ in range(20)]
    teacher = mm.Knapsack(decision="vector").fit(X[:1], [[0] * 5])
    return mm.Knapsack, X, [teacher.argmax(np.array([1.0, -0.5]), x) for x in X]


def programs(rng):
    X = [mm.ProgramInput(rng.normal(size=(4, 2)), A=np.ones((1, 4)), high=2.0) for _ in range(20)]
    teacher = mm.Program(decision="vector").fit(X[:1], [[0] * 4])
    return mm.Program, X, [teacher.argmax(np.array([1.0, -0.5]), x) for x in X]


def paths(rng):
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    X = [(edges, rng.random((7, 2))) for _ in range(20)]
    teacher = mm.Path(decision="vector").fit(X[:1], [[1, 0, 0, 1, 0, 0, 1]])
    return mm.Path, X, [teacher.argmax(np.array([1.0, 0.2]), x) for x in X]


def formed(vector, form):
    chosen = np.flatnonzero(vector).tolist()
    return {"vector": list(vector), "indices": chosen, "set": set(chosen)}[form]


@pytest.mark.parametrize("form", ["vector", "indices", "set"])
@pytest.mark.parametrize("make", [knapsacks, programs, paths])
def test_predictions_have_the_form_of_training(tmp_path, make, form):
    kind, X, vectors = make(np.random.default_rng(0))
    plain = mm.StructuralSVM(kind(decision="vector"), C=1.0).fit(X, vectors)
    Y = [formed(y, form) for y in vectors]
    given = Y if form == "set" else [np.array(y, int) for y in Y]  # arrays as well as lists
    model = mm.StructuralSVM(kind(), C=1.0).fit(X, given)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.structure_.form_ == form
    found = model.predict(X)
    assert found == [formed(y, form) for y in plain.predict(X)]
    assert model.score(X, Y) == pytest.approx(plain.score(X, vectors))
    assert model.explain(X[0]).prediction == found[0]
    assert [y for y, _ in model.topk(X[0], 3)] == [formed(y, form) for y, _ in plain.topk(X[0], 3)]
    model.save(tmp_path / "model.mm", support=True)
    again = mm.load(tmp_path / "model.mm")
    assert again.predict(X) == found and again.structure_.form_ == form
    assert again.support_.outputs == model.support_.outputs


def test_paths_by_their_nodes(tmp_path):
    _, X, vectors = paths(np.random.default_rng(0))
    edges = X[0][0]
    Y = [[0, *(edges[e][1] for e in np.flatnonzero(y))] for y in vectors]
    model = mm.StructuralSVM(mm.Path(), C=1.0).fit(X, Y)
    plain = mm.StructuralSVM(mm.Path(), C=1.0).fit(X, vectors)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.structure_.form_ == "nodes" and model.predict(X[:1])[0][0] == 0
    assert model.score(X, Y) == pytest.approx(plain.score(X, vectors))
    model.save(tmp_path / "model.mm", support=True)
    assert mm.load(tmp_path / "model.mm").support_.outputs == model.support_.outputs


def test_paths_in_graphs_of_networkx(tmp_path):
    _, X, vectors = paths(np.random.default_rng(0))
    names, edges = "abcde", X[0][0]
    graphs = []
    for x in X:
        graph = nx.DiGraph(source="a", target="e")
        graph.add_nodes_from(names)
        for (a, b), (length, slope) in zip(edges, x[1].tolist(), strict=True):
            graph.add_edge(names[a], names[b], length=length, slope=slope)
        graphs.append(graph)
    Y = [["a", *(names[edges[e][1]] for e in np.flatnonzero(y))] for y in vectors]
    plain = mm.StructuralSVM(mm.Path(), C=1.0).fit(X, vectors)
    model = mm.StructuralSVM(mm.Path(), C=1.0).fit(graphs, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert model.feature_names_out.tolist() == ["length", "slope"]
    assert model.predict(graphs)[0][0] == "a" and model.score(graphs, Y) == plain.score(X, vectors)
    assert model.predict([(graphs[0], "b", "e")])[0][0] == "b"
    model.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").predict(graphs) == model.predict(graphs)
    indices = mm.StructuralSVM(mm.Path(), C=1.0).fit(graphs, [np.flatnonzero(y) for y in vectors])
    np.testing.assert_array_equal(indices.coef_, model.coef_)
    street = nx.Graph()
    street.add_edge("x", "y", cost=1.0)
    street.add_edge("y", "z", cost=1.0)
    structure = mm.Path(cycles=True).fit([(street, "x", "z")], [["x", "y", "z"]])
    assert structure.argmax(np.ones(1), (street, "z", "x")) == ["z", "y", "x"]
    with pytest.raises(ValueError, match=r"X\[0\]: expected \(graph, source, target\), or a graph with attributes"):
        mm.Path().fit([street], [["x", "y"]])
    with pytest.raises(ValueError, match=r"X\[0\]: the target must be a node of the graph, found 'q'"):
        mm.Path().fit([(street, "x", "q")], [["x", "y"]])
    street["x"]["y"]["photo"] = object()
    with pytest.raises(ValueError, match=r"X\[0\]: edge \('x', 'y'\): the attribute 'photo' is object"):
        mm.Path(cycles=True).fit([(street, "x", "z")], [["x", "y", "z"]])


def test_labels_of_graphs_of_networkx():
    rng = np.random.default_rng(0)
    graphs, arrays, Y, lists = [], [], [], []
    for _ in range(12):
        graph, labels = nx.path_graph(["a", "b", "c", "d", "e"]), np.repeat(rng.integers(0, 2, 2), [3, 2])
        rows = labels + 0.8 * rng.normal(size=5)
        for name, value in zip(graph.nodes, rows.tolist(), strict=True):
            graph.nodes[name]["colour"] = value
        graphs.append(graph)
        arrays.append((rows[:, None], [(v, v + 1) for v in range(4)]))
        lists.append([("out", "in")[k] for k in labels])
        Y.append(dict(zip("abcde", lists[-1], strict=True)))
    plain = mm.StructuralSVM(mm.Cut(), C=1.0).fit(arrays, lists)
    model = mm.StructuralSVM(mm.Cut(), C=1.0).fit(graphs, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_out[0] == "colour → in"
    assert model.predict(graphs) == [dict(zip("abcde", y, strict=True)) for y in plain.predict(arrays)]
    assert model.score(graphs, Y) == plain.score(arrays, lists)
    assert mm.StructuralSVM(mm.Cut(), C=1.0).fit(graphs, lists).predict(graphs) == plain.predict(arrays)
    with pytest.raises(ValueError, match=r"Y\[1\]: outputs have different forms: this is one of lists of labels"):
        mm.Cut().fit(graphs, [Y[0], *lists[1:]])
    with pytest.raises(ValueError, match=r"Y\[0\]: expected a dict with a label for each node, found none"):
        mm.Cut().fit(graphs[:1], [{"a": 0, "b": 1, "c": 0, "d": 0}])


def tables(matching, n_left, n_right):
    table = np.zeros((n_left, n_right), int)
    table[np.arange(n_left), matching] = 1
    return table


@pytest.mark.parametrize("form", ["partners", "pairs", "set", "matrix", "vector"])
@pytest.mark.parametrize("bipartite", [True, False])
def test_matchings_have_the_form_of_training(tmp_path, bipartite, form):
    rng = np.random.default_rng(0)
    kind, shape = (mm.BipartiteMatching, (3, 4)) if bipartite else (mm.Matching, (4, 4))
    X = [rng.normal(size=(*shape, 2)) for _ in range(15)]
    teacher = kind().fit([X[0]], [[0, 1, 2] if bipartite else [1, 0, 3, 2]])
    partners = [teacher.argmax(np.array([1.0, -0.5]), x) for x in X]

    def formed_as(y):
        pairs = [(a, b) for a, b in enumerate(y) if bipartite or a < b]
        numbers = {pair: p for p, pair in enumerate((a, b) for a in range(4) for b in range(a + 1, 4))}
        flat = [int(pair in pairs) for pair in numbers]
        table = tables(y, *shape)
        vector = table.ravel().tolist() if bipartite else flat
        return {"partners": y, "pairs": pairs, "set": set(pairs), "matrix": table, "vector": vector}[form]

    plain = mm.StructuralSVM(kind(), C=1.0).fit(X, partners)
    Y = [formed_as(y) for y in partners]
    model = mm.StructuralSVM(kind(), C=1.0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.structure_.form_ == form
    expected = [formed_as(y) for y in plain.predict(X)]
    assert repr(model.predict(X)) == repr(expected)
    assert model.score(X, Y) == pytest.approx(plain.score(X, partners))
    assert repr(model.topk(X[0], 2)[0][0]) == repr(expected[0])
    model.save(tmp_path / "model.mm", support=True)
    again = mm.load(tmp_path / "model.mm")
    assert repr(again.predict(X)) == repr(expected)
    assert repr(again.support_.outputs) == repr(model.support_.outputs)


def test_matchings_of_graphs_of_networkx():
    rng = np.random.default_rng(0)
    graphs, arrays = [], []
    for _ in range(15):
        graph = nx.complete_graph(4)
        graph = nx.relabel_nodes(graph, dict(enumerate("abcd")))
        rows = rng.normal(size=(6, 2))
        for (_, _, data), row in zip(graph.edges(data=True), rows.tolist(), strict=True):
            data |= {"near": row[0], "far": row[1]}
        graphs.append(graph)
        arrays.append(mm.EdgeFeatures([(ord(a) - 97, ord(b) - 97) for a, b in graph.edges], rows))
    teacher = mm.Matching().fit(arrays[:1], [[1, 0, 3, 2]])
    partners = [teacher.argmax(np.array([1.0, -0.5]), x) for x in arrays]
    Y = [{("abcd"[b], "abcd"[a]) for a, b in enumerate(y) if a < b} for y in partners]  # in either order
    plain, model = mm.StructuralSVM(mm.Matching()).fit(arrays, partners), mm.StructuralSVM(mm.Matching()).fit(graphs, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    expected = [{("abcd"[a], "abcd"[b]) for a, b in enumerate(y) if a < b} for y in plain.predict(arrays)]
    assert model.predict(graphs) == expected
    assert model.score(graphs, Y) == plain.score(arrays, partners)
    with pytest.raises(ValueError, match=r"Y\[0\]: expected pairs of nodes of X, found the node 'q'"):
        mm.Matching().fit(graphs[:1], [{("a", "q"), ("b", "c")}])


def test_bipartite_graphs_of_networkx():
    rng = np.random.default_rng(0)
    graphs, arrays = [], []
    for _ in range(15):
        graph, table = nx.Graph(), rng.normal(size=(2, 3, 1))
        graph.add_nodes_from(["x", "y", "z"], bipartite=1)
        graph.add_nodes_from(["a", "b"], bipartite=0)
        for (i, k), value in np.ndenumerate(table[:, :, 0]):
            graph.add_edge("xyz"[k], "ab"[i], fit=float(value))
        graphs.append(graph)
        arrays.append(table)
    teacher = mm.BipartiteMatching().fit(arrays[:1], [[0, 1]])
    partners = [teacher.argmax(np.ones(1), x) for x in arrays]
    Y = [{("ab"[i], "xyz"[k]) for i, k in enumerate(y)} for y in partners]
    plain = mm.StructuralSVM(mm.BipartiteMatching()).fit(arrays, partners)
    model = mm.StructuralSVM(mm.BipartiteMatching()).fit(graphs, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.predict(graphs) == [{("ab"[i], "xyz"[k]) for i, k in enumerate(y)} for y in plain.predict(arrays)]
    assert model.score(graphs, Y) == plain.score(arrays, partners)
    with pytest.raises(ValueError, match=r"Y\[0\]: expected pairs \(left, right\), found .* as left node"):
        mm.BipartiteMatching().fit(graphs[:1], [{("x", "a"), ("y", "b")}])
    with pytest.raises(ValueError, match=r"X\[0\]: node 0 needs the attribute bipartite=0 \(left\)"):
        mm.BipartiteMatching().fit([nx.path_graph(2)], [{(0, 1)}])


def test_trees_of_graphs_of_networkx():
    rng = np.random.default_rng(0)
    graphs, arrays = [], []
    for _ in range(10):
        graph, table = nx.complete_graph(4), np.zeros((4, 4, 1))
        for a, b, data in graph.edges(data=True):
            data["weight"] = table[a, b, 0] = rng.normal()
        graphs.append(graph)
        arrays.append(table)
    Y = [sorted(nx.maximum_spanning_tree(graph).edges) for graph in graphs]
    plain = mm.StructuralSVM(mm.Tree(directed=False)).fit(arrays, Y)
    model = mm.StructuralSVM(mm.Tree(directed=False)).fit(graphs, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.predict(graphs) == plain.predict(arrays) and model.feature_names_out.tolist() == ["weight"]
    with pytest.raises(ValueError, match=r"X\[0\]: a directed graph, expected an undirected one"):
        mm.Tree(directed=False).fit([nx.DiGraph([(0, 1)])], [[(0, 1)]])

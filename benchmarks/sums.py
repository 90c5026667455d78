"""Sums over all outputs beside maxima over them, and beside CRFsuite, torch-struct and ViennaRNA.

Marginals, the log-partition function and expected scores together are one call; its CPU seconds are compared with those
of the argmax from the same scores of parts, and with those of other packages for the marginals of the same inputs.
Chains: one named feature for each token, read by CRFsuite and by us; torch-struct gets tables of scores, ten chains
in a batch. Grammars: the binary rules and sentences of the benchmark ``cky``; torch-struct's marginals of rules by
automatic differentiation. RNA: random sequences; ViennaRNA's ``pf_fold`` with pair probabilities.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks import cky, folding
from benchmarks.data.treebanks import load_short
from benchmarks.measure import train_crfsuite
from benchmarks.report import table
from maxmargin.features.text.treebank import tags_of

#: Tokens and labels of chains.
CHAINS = ((20, 26), (10, 9), (50, 45))
N_CHAINS = 200
#: Chains in a batch of torch-struct, whose memory grows with the cube of the number of labels.
BATCH = 10
#: Bases, our sequences and those of ViennaRNA.
FOLDS = {50: (100, 40), 100: (60, 20), 200: (24, 6), 500: (4, 1)}


def seconds(task: Callable[[], Any], repeats: int = 5) -> float:
    """Return the fewest CPU seconds of several calls, because the machine is shared."""
    task()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return min(times)


def both(examples: Any, w: np.ndarray) -> dict[str, float]:
    """Return CPU seconds of the sums and of the argmaxes of all examples from the same scores of parts."""
    ids, answers = np.arange(examples.n_examples), examples.empty_answers()
    scores, zeros = examples.scores(w, ids), np.zeros(examples.n_examples)
    return {
        "sums": seconds(lambda: examples.sums(scores, ids)),
        "argmax": seconds(lambda: examples.decode_scores(scores, ids, zeros, answers)),
    }


def chains(T: int, K: int) -> dict[str, Any]:
    """Measure chains of T tokens and K labels; the marginals of all packages are compared."""
    rng, labels = np.random.default_rng(0), [f"l{k}" for k in range(K)]
    words = [[[f"w{v}"] for v in rng.integers(500, size=T)] for _ in range(N_CHAINS)]
    Y = [[labels[k] for k in rng.integers(K, size=T)] for _ in range(N_CHAINS)]
    model = mm.SequenceTagger(
        bound="likelihood", start_end=False, fit_intercept=False, max_iter=3, tol=1e9, n_jobs=1, classes=labels
    ).fit(words, Y)
    examples: Any = model.structure_.encode(words)  # type: ignore[attr-defined]
    found: dict[str, Any] = both(examples, model.coef_)
    found["from names"] = seconds(lambda: model.predict_marginals(words), 3)
    found["CRFsuite"], found["difference from CRFsuite"] = crfsuite_marginals(model, words, Y, labels)
    scores = examples.scores(model.coef_, np.arange(N_CHAINS))
    tokens = scores[0].values.reshape(-1, T, K)[:BATCH]
    spent, theirs = torch_chains(tokens, scores[1].values.reshape(K, K))
    found["torch-struct"] = spent * N_CHAINS / BATCH
    ours = np.array(model.predict_marginals(words[:BATCH]))
    found["difference from torch-struct"] = float(np.abs(ours - theirs).max())
    return found


def crfsuite_marginals(model: Any, words: Any, Y: Any, labels: list[str]) -> tuple[float, float]:
    """Return CPU seconds of all marginals of CRFsuite, and how far ours are from them with its weights."""
    import pycrfsuite

    with tempfile.NamedTemporaryFile() as file:
        train_crfsuite(
            words, Y, file.name, c2=1.0, max_iterations=3,
            **{"feature.possible_states": True, "feature.possible_transitions": True},
        )  # fmt: skip
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        info = tagger.info()

    def marginals() -> list[Any]:
        tables = []
        for x in words:
            tagger.set(x)
            tables.append([[tagger.marginal(label, t) for label in labels] for t in range(len(x))])
        return tables

    spent, ours = seconds(marginals, 3), model.coef_.copy()
    at = {name: j for j, name in enumerate(model.feature_names_out)}
    model.coef_ = np.zeros_like(ours)
    for (feature, label), value in {**info.state_features, **info.transitions}.items():
        model.coef_[at[f"{feature} → {label}"]] = value
    difference = float(np.abs(np.array(model.predict_marginals(words)) - np.array(marginals())).max())
    model.coef_ = ours
    return spent, difference


def torch_chains(tokens: np.ndarray, pairs: np.ndarray) -> tuple[float, np.ndarray]:
    """Return CPU seconds of torch-struct for the marginals of a batch of chains, and those of labels of tokens."""
    import torch
    from torch_struct import LinearChainCRF

    torch.set_num_threads(1)
    n, T, K = tokens.shape
    potentials = np.repeat(pairs.T[None, None], n * (T - 1), axis=0).reshape(n, T - 1, K, K)
    potentials = potentials + tokens[:, 1:, :, None]  # [to, from], as torch-struct has them
    potentials[:, 0] += tokens[:, 0, None, :]
    given = torch.tensor(potentials)
    found = LinearChainCRF(given).marginals.detach().numpy()
    tables = np.concatenate([found[:, 0].sum(axis=1)[:, None], found.sum(axis=3)], axis=1)
    return seconds(lambda: LinearChainCRF(given).marginals, 1), tables


def grammar() -> dict[str, Any]:
    """Measure inside and outside sums with the binary grammar of the benchmark ``cky``."""
    trees = [cky.without_unary(tree) for tree in load_short("craft_treebank", "short10", "train")]
    trees = [("TOP", *tree[1:]) for tree in trees if not isinstance(tree, str)]
    rules, w = cky.fitted(trees, horizontal=0)
    X = [tags_of(tree) for tree in load_short("craft_treebank", "short10", "test")]
    X = [x for x in X if len(x) > 1 and all(tag in rules.rules_.tags for tag in x)]
    X = [X[i] for i in np.random.default_rng(0).permutation(len(X))[:24]]
    examples = rules.encode(X)
    ids = np.arange(len(X))
    logs = examples.sums(examples.scores(w, ids), ids).log_partitions
    spent, theirs = cky.torch_sums(rules, w, X)
    agree = np.isclose(theirs, logs, rtol=1e-4, atol=1e-4) | (theirs == logs)
    return {
        **both(examples, w), "torch-struct": spent, "sentences": len(X), "rules": len(rules.rules_.rules),
        "agree": int(agree.sum()),
    }  # fmt: skip


def rna(n: int) -> dict[str, Any]:
    """Measure the sums over structures of random sequences of n bases."""
    import RNA

    structure = mm.Folding().fit(["GGGAAACCC"], ["(((...)))"])
    w, rng, (ours, theirs) = folding.weights(structure), np.random.default_rng(n), FOLDS[n]
    X = ["".join(rng.choice(list("ACGU"), n)) for _ in range(ours)]
    found = both(structure.encode(X), w)

    def vienna() -> None:
        for x in X[:theirs]:
            fold = RNA.fold_compound(x)
            fold.pf()
            fold.bpp()

    return {**found, "sequences": ours, "ViennaRNA": seconds(vienna, 2) * ours / theirs}


def others() -> dict[str, dict[str, float]]:
    """Measure the other structures with random weights."""
    rng = np.random.default_rng(0)

    def arcs(n: int) -> tuple[list[Any], list[Any]]:
        return list(rng.normal(size=(60, n, n, 4))), [[0, *range(1, n - 1)]] * 60

    def strings(n: int) -> list[tuple[str, str]]:
        return [("".join(rng.choice(list("ACGT"), n)), "".join(rng.choice(list("ACGT"), n))) for _ in range(20)]

    dag = np.array([(i, j) for i in range(30) for j in range(i + 1, min(i + 5, 30))])
    edges = [(dag, rng.normal(size=(len(dag), 3))) for _ in range(100)]
    steps = [int(np.flatnonzero((dag == (i, i + 1)).all(axis=1))[0]) for i in range(29)]
    items = [(rng.normal(size=(40, 3)), rng.integers(1, 9, 40).astype(float), 60.0) for _ in range(60)]
    pairs = strings(100)
    cases: dict[str, tuple[Any, Any, Any]] = {
        "multiclass, 20 labels": (mm.Multiclass(), rng.normal(size=(2000, 5)), np.arange(2000) % 20),
        "multilabel, 8 labels, all pairs": (mm.Multilabel(), rng.normal(size=(200, 5)), rng.integers(2, size=(200, 8))),
        "multilabel, 30 labels, tree": (
            mm.Multilabel(pairs="tree"), rng.normal(size=(500, 5)), rng.integers(2, size=(500, 30)),
        ),
        "directed tree, 20 nodes": (mm.Tree(), *arcs(20)),
        "projective tree, 20 nodes": (mm.Tree(projective=True), *arcs(20)),
        "global alignment, 100 × 100": (mm.Alignment(alphabet="ACGT"), pairs, pairs),
        "local alignment, 100 × 100": (mm.Alignment(alphabet="ACGT", mode="local"), pairs, pairs),
        "path, 30 nodes": (mm.Path(), edges, [steps] * 100),
        "knapsack, 40 items": (mm.Knapsack(), items, [[0] * 40] * 60),
        "motif, 300 letters": (mm.Motif(length=8), ["".join(rng.choice(list("ACGT"), 300)) for _ in range(100)],
                               [0, 1] * 50),
    }  # fmt: skip
    found = {}
    for name, (structure, X, Y) in cases.items():
        examples = structure.fit_encode(X, Y)
        found[name] = both(examples, rng.normal(size=examples.dim))
    return found


def run() -> dict[str, Any]:
    return {
        "chains": {f"{T} tokens, {K} labels": chains(T, K) for T, K in CHAINS},
        "grammar": grammar(),
        "folding": {str(n): rna(n) for n in FOLDS},
        "others": others(),
    }


def markdown(result: dict[str, Any]) -> str:
    def ratio(row: dict[str, float]) -> str:
        return f"{row['sums'] / row['argmax']:.2f}"

    lines = [
        [name, f"{N_CHAINS / row['sums']:.0f}", ratio(row), f"{row['CRFsuite'] / row['from names']:.1f}",
         f"{row['torch-struct'] / row['sums']:.0f}"]
        for name, row in result["chains"].items()
    ]  # fmt: skip
    part = result["grammar"]
    folds = [
        [n, f"{row['sequences'] / row['sums']:.1f}", ratio(row), f"{row['ViennaRNA'] / row['sums']:.1f}"]
        for n, row in result["folding"].items()
    ]
    rest = [[name, f"{1e3 * row['sums']:.1f}", f"{1e3 * row['argmax']:.1f}", ratio(row)]
            for name, row in result["others"].items()]  # fmt: skip
    far = max(max(row[f"difference from {who}"] for row in result["chains"].values())
              for who in ("CRFsuite", "torch-struct"))  # fmt: skip
    return (
        f"# Sums over outputs\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\nOne thread; the fewest CPU seconds of "
        "several calls.\n\n## Chains\n\nCRFsuite and our figure beside it read features by name; torch-struct and our "
        f"other figures begin with tables of scores. The marginals differ by at most {far:.0e}.\n\n"
        + table(["chains", "per s", "sums ÷ argmax", "CRFsuite ÷ ours", "torch-struct ÷ ours"], lines)
        + f"\n\n## Grammar\n\n{part['sentences']} sentences of at most 10 tags, {part['rules']} binary rules: "
        f"{part['sentences'] / part['sums']:.0f} per s, sums ÷ argmax {ratio(part)}, torch-struct ÷ ours "
        f"{part['torch-struct'] / part['sums']:.0f}; log-partition functions agree on {part['agree']}.\n\n## RNA\n\n"
        + table(["bases", "per s", "sums ÷ argmax", "ViennaRNA ÷ ours"], folds)
        + "\n\n## Others\n\n"
        + table(["", "sums, ms", "argmax, ms", "sums ÷ argmax"], rest)
    )

"""Decoding with grammars: against nltk's Viterbi parser and torch-struct, and growth with length and rules.

For the comparison all three use one grammar without unary rules, which torch-struct does not have: trees of
craft_treebank short10 whose phrases over single tokens are removed and whose unary chains are replaced by their top,
with right-hand sides cut into pairs (horizontal=0). The weights are logarithms of relative frequencies. Growth is
measured with grammars as they are, over tags, of all training sentences of at most 40 tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.treebanks import load_craft, load_short
from benchmarks.measure import Clock
from benchmarks.report import table
from maxmargin.features.text.brackets import TreeTuple
from maxmargin.features.text.treebank import tags_of, without_words
from maxmargin.structures.grammar.derivations import TAG, symbol_name

#: Lengths of sentences, and how many of each are decoded.
LENGTHS, EACH = (10, 14, 20, 28, 40, 56), 12
SHARES = (0.1, 0.3, 1.0)
#: Shortest sentences for the exponent: those below have few partial rules on their spans.
SHORTEST = 20
LENGTH_OF_RULES = 20


def without_unary(tree: Any) -> Any:
    """Return a tree without unary rules: tags for phrases over single tokens, and the top of each chain."""
    if isinstance(tree, str):
        return tree
    top, node = tree[0], tree
    while not isinstance(node, str) and len(node) == 2:
        node = node[1]
    return node if isinstance(node, str) else (top, *map(without_unary, node[1:]))


def fitted(trees: list[TreeTuple], horizontal: int | None = None) -> tuple[mm.Grammar, np.ndarray]:
    """Return the grammar of trees of tags, and its maximum-likelihood weights."""
    X = [tags_of(tree) for tree in trees]
    grammar = mm.Grammar(cost="constituents", leaves="tags", horizontal=horizontal, glue=False).fit(X, trees)
    return grammar, grammar.log_probabilities(X, trees)


def seconds_per_sentence(grammar: mm.Grammar, w: np.ndarray, X: list[list[str]]) -> tuple[float, np.ndarray]:
    """Return CPU seconds per sentence, and the score of the best tree of each (−∞ for none)."""
    examples = grammar.encode(X)
    answers, ids = examples.empty_answers(), np.arange(len(X))
    examples.decode(w, ids[:1], np.zeros(1), answers)
    clock, repeats = Clock(), 0
    while repeats == 0 or (clock.cpu < 0.2 and repeats < 100):
        examples.decode(w, ids, np.zeros(len(X)), answers)
        repeats += 1
    first = answers.codes[examples.code_offsets[:-1]]
    return clock.cpu / repeats / len(X), np.where(first == -(2**31), -np.inf, answers.rises)


def nltk_seconds(grammar: mm.Grammar, w: np.ndarray, X: list[list[str]]) -> tuple[float, np.ndarray]:
    """Return the same for nltk's Viterbi parser."""
    from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction
    from nltk.parse import ViterbiParser

    symbols = [
        label if kind == TAG else Nonterminal(symbol_name((kind, label, note)))
        for kind, label, note in grammar.rules_.symbols
    ]
    productions = [
        ProbabilisticProduction(symbols[left], [symbols[s] for s in right], prob=float(np.exp(w[k])))
        for k, (left, right) in enumerate(grammar.rules_.rules)
    ]
    parser = ViterbiParser(PCFG(symbols[grammar.rules_.starts[0]], productions))
    clock, found = Clock(), []
    for x in X:
        trees = list(parser.parse(x))
        found.append(math.log(trees[0].prob()) if trees else -np.inf)
    return clock.cpu / len(X), np.array(found)


def torch_batches(grammar: mm.Grammar, w: np.ndarray, X: list[list[str]]) -> Iterator[tuple[list[int], Any]]:
    """Yield torch-struct's distributions of the sentences of each length, and which sentences they are."""
    import torch
    from torch_struct import SentCFG

    torch.set_num_threads(1)
    kinds = [kind for kind, _, _ in grammar.rules_.symbols]
    phrases, tags = [s for s, k in enumerate(kinds) if k != TAG], [s for s, k in enumerate(kinds) if k == TAG]
    place = {s: k for k, s in enumerate([*phrases, *tags])}
    rules = torch.full((len(phrases), len(place), len(place)), -1e9)
    for k, (left, right) in enumerate(grammar.rules_.rules):
        rules[place[left], place[right[0]], place[right[1]]] = w[k]
    roots = torch.full((len(phrases),), -1e9)
    roots[[place[s] for s in grammar.rules_.starts]] = 0.0
    for n in sorted({len(x) for x in X}):
        some = [i for i, x in enumerate(X) if len(x) == n]
        terms = torch.full((len(some), n, len(tags)), -1e9)
        for r, i in enumerate(some):
            for t, tag in enumerate(X[i]):
                if tag in grammar.rules_.tags:
                    terms[r, t, place[grammar.rules_.tags[tag]] - len(phrases)] = 0.0
        yield (
            some,
            SentCFG(
                (terms, rules.expand(len(some), *rules.shape), roots.expand(len(some), -1)), torch.full((len(some),), n)
            ),
        )


def torch_seconds(grammar: mm.Grammar, w: np.ndarray, X: list[list[str]]) -> tuple[float, np.ndarray]:
    """Return the same for torch-struct, sentences of equal length in a batch."""
    clock, found = Clock(), np.full(len(X), -np.inf)
    for some, batch in torch_batches(grammar, w, X):
        best = batch.max.detach().numpy()
        found[some] = np.where(best > -1e4, best, -np.inf)  # torch-struct has −1e5 for minus infinity
    return clock.cpu / len(X), found


def torch_sums(grammar: mm.Grammar, w: np.ndarray, X: list[list[str]]) -> tuple[float, np.ndarray]:
    """Return CPU seconds of torch-struct for the marginals of all sentences, and their log-partition functions."""
    clock, found = Clock(), np.full(len(X), -np.inf)
    for some, batch in torch_batches(grammar, w, X):
        _ = batch.marginals
        logs = batch.partition.detach().numpy()
        found[some] = np.where(logs > -1e4, logs, -np.inf)
    return clock.cpu, found


def comparison() -> dict[str, Any]:
    trees = [without_unary(tree) for tree in load_short("craft_treebank", "short10", "train")]
    trees = [("TOP", *tree[1:]) for tree in trees if not isinstance(tree, str)]
    grammar, w = fitted(trees, horizontal=0)
    X = [tags_of(tree) for tree in load_short("craft_treebank", "short10", "test")]
    X = [x for x in X if len(x) > 1 and all(tag in grammar.rules_.tags for tag in x)]
    X = [X[i] for i in np.random.default_rng(0).permutation(len(X))[:24]]
    ours, expected = seconds_per_sentence(grammar, w, X)
    result: dict[str, Any] = {"rules": len(grammar.rules_.rules), "sentences": len(X), "maxmargin": ours}
    for name, measure in (("nltk", nltk_seconds), ("torch-struct", torch_seconds)):
        try:
            seconds, found = measure(grammar, w, X)
        except ImportError:
            continue
        agree = np.isclose(found, expected, rtol=1e-4, atol=1e-4) | (found == expected)
        result[name] = {"seconds": seconds, "ratio": seconds / ours, "agree": int(agree.sum())}
    return result


def growth() -> dict[str, Any]:
    train, test = load_craft("train", 40), load_craft("test", max(LENGTHS))
    train, test = [without_words(t, [], "") for t in train], [without_words(t, [], "") for t in test]
    order = np.random.default_rng(0).permutation(len(train))
    sentences = [tags_of(tree) for tree in test]
    lengths, rules = {}, {}
    for share in SHARES:
        grammar, w = fitted([train[i] for i in order[: int(share * len(train))]])
        X = [x for x in sentences if len(x) == LENGTH_OF_RULES][:EACH]
        rules[str(len(grammar.rules_.rules))] = seconds_per_sentence(grammar, w, X)[0]
    for n in LENGTHS:
        X = [x for x in sentences if len(x) == n][:EACH]
        lengths[str(n)] = seconds_per_sentence(grammar, w, X)[0]
    long = {int(n): seconds for n, seconds in lengths.items() if int(n) >= SHORTEST}
    slope = np.polyfit(np.log(list(long)), np.log(list(long.values())), 1)[0]
    rule_slope = np.polyfit(np.log(list(map(int, rules))), np.log(list(rules.values())), 1)[0]
    return {"lengths": lengths, "exponent": float(slope), "rules": rules, "rule_exponent": float(rule_slope)}


def short() -> dict[str, float]:
    """Return sentences per second with the grammars of short sentences."""
    rates = {}
    for name in ("short10", "short15"):
        grammar, w = fitted(load_short("craft_treebank", name, "train"))
        X = [tags_of(tree) for tree in load_short("craft_treebank", name, "test")]
        rates[name] = 1.0 / seconds_per_sentence(grammar, w, X)[0]
    rates["length 15"] = 1.0 / seconds_per_sentence(grammar, w, [x for x in X if len(x) == 15])[0]
    return rates


def run() -> dict[str, Any]:
    return {"comparison": comparison(), "short": short(), "growth": growth()}


def markdown(result: dict[str, Any]) -> str:
    """Return the comparison, rates and growth."""
    part, growing = result["comparison"], result["growth"]
    rows = [["maxmargin", f"{1 / part['maxmargin']:.0f}", 1, None]]
    for name in ("nltk", "torch-struct"):
        if name in part:
            row, agree = part[name], f"{part[name]['agree']} of {part['sentences']}"
            rows.append([name, f"{1 / row['seconds']:.1f}", f"{row['ratio']:.0f}", agree])
    rates = ", ".join(f"{name}: {rate:.0f}" for name, rate in result["short"].items())
    lengths = [[n, f"{1000 * s:.2f}", f"{1 / s:.0f}"] for n, s in growing["lengths"].items()]
    rules = [[n, f"{1000 * s:.2f}"] for n, s in growing["rules"].items()]
    return (
        f"# Decoding with grammars\n\nThe best tree of {part['sentences']} sentences of at most 10 tags, one grammar "
        f"of {part['rules']} binary rules, one thread, CPU seconds.\n\n"
        + table(["", "sentences/s", "time, as a multiple", "equal best score"], rows)
        + f"\n\nGrammars as they are, with rules of any length and unary chains, sentences per second: {rates}.\n\n"
        f"Growth with length, {max(map(int, growing['rules']))} rules: exponent {growing['exponent']:.2f} from "
        f"{SHORTEST} tokens on.\n\n"
        + table(["tokens", "ms", "sentences/s"], lengths)
        + f"\n\nGrowth with the number of rules, {LENGTH_OF_RULES} tokens: exponent {growing['rule_exponent']:.2f}.\n\n"
        + table(["rules", "ms"], rules)
    )

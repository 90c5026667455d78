"""A large tagger: 1 million generated tokens, 20 labels, features with Zipf frequencies, against CRFsuite.

Every word belongs to a label, and is drawn with a probability of about 1/rank among the words of its label; one token
in twenty has a word of another label. Endings of words hint at their label, as suffixes do, and labels follow a Markov
chain. The features of a token are its word, its ending, the words and endings of its neighbours and the pair of the
previous word and the word: most of them occur once, as in text.
"""

from __future__ import annotations

import resource
import tempfile
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated, tag_crfsuite, train_crfsuite
from benchmarks.report import table
from maxmargin.metrics.tokens import token_accuracy

TOKENS, TEST_TOKENS, LENGTH = 1_000_000, 50_000, 20
LABELS, WORDS, ENDINGS, OTHER = 20, 4000, 15, 1 / 20  # words and endings per label
ITERATIONS = (25, 50)


def generate() -> tuple[Any, Any]:
    """Return words and labels as numbers, one row per sentence."""
    rng = np.random.default_rng(0)
    n = (TOKENS + TEST_TOKENS) // LENGTH
    steps = rng.dirichlet(np.full(LABELS, 0.3), LABELS).cumsum(axis=1)
    labels = np.empty((n, LENGTH), np.int64)
    labels[:, 0] = rng.integers(LABELS, size=n)
    for t in range(1, LENGTH):
        draws = rng.random(n)[:, None]
        labels[:, t] = np.minimum((draws > steps[labels[:, t - 1]]).sum(axis=1), LABELS - 1)
    home = np.where(rng.random(labels.shape) < OTHER, rng.integers(LABELS, size=labels.shape), labels)
    shares = 1.0 / np.arange(1, WORDS + 1)
    ranks = np.searchsorted(shares.cumsum() / shares.sum(), rng.random(labels.shape))
    return home * WORDS + ranks, labels


def strings() -> tuple[Any, Any, Any, Any]:
    """Return training and test sentences as feature strings, and their labels."""
    words, labels = generate()
    rng = np.random.default_rng(1)
    ending = np.repeat(np.arange(LABELS), WORDS) * ENDINGS + rng.integers(ENDINGS, size=LABELS * WORDS)
    stray = rng.random(len(ending)) < 0.4
    ending[stray] = rng.integers(LABELS * ENDINGS, size=int(stray.sum()))
    sides = {side: [f"{side}w{j}" for j in range(LABELS * WORDS)] for side in ("", "-1", "+1")}
    ends = {side: [f"{side}e{j}" for j in range(LABELS * ENDINGS)] for side in ("", "-1", "+1")}
    X = []
    for sentence in words.tolist():
        tails = [int(ending[j]) for j in sentence]
        rows = []
        for t, (j, e) in enumerate(zip(sentence, tails, strict=True)):
            row = [sides[""][j], ends[""][e]]
            if t > 0:
                row += [sides["-1"][sentence[t - 1]], ends["-1"][tails[t - 1]], f"{sentence[t - 1]},{j}"]
            if t < LENGTH - 1:
                row += [sides["+1"][sentence[t + 1]], ends["+1"][tails[t + 1]]]
            rows.append(row)
        X.append(rows)
    Y = [[f"L{k}" for k in row] for row in labels.tolist()]
    n = TOKENS // LENGTH
    return X[:n], Y[:n], X[n:], Y[n:]


def ours(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the results of `SequenceTagger` in one thread."""
    X, Y, test_X, test_Y = strings()
    mm.SequenceTagger(tol=0.5, n_jobs=1, **parameters).fit([[["a"], ["b"]]] * 20, [["x", "y"]] * 20)
    clock = Clock()
    model = mm.SequenceTagger(n_jobs=1, **parameters).fit(X, Y)
    cpu = clock.cpu
    return {
        "cpu": cpu, "accuracy": token_accuracy(test_Y, model.predict(test_X)), "weights": len(model.coef_),
        "gap": model.certificate_.gap, "fit_peak_mb": peak(),
    }  # fmt: skip


def crfsuite(iterations: int) -> dict[str, Any]:
    """Return the results of CRFsuite's L-BFGS with the usual small c1 and c2, after a number of iterations."""
    X, Y, test_X, test_Y = strings()
    with tempfile.NamedTemporaryFile() as file:
        clock = train_crfsuite(X, Y, file.name, c1=0.1, c2=0.1, max_iterations=iterations)
        found, _ = tag_crfsuite(test_X, file.name)
    cpu = clock.cpu_total  # type: ignore[attr-defined]
    return {"cpu": cpu, "accuracy": token_accuracy(test_Y, found), "fit_peak_mb": peak()}


def only_data() -> dict[str, Any]:
    """Generate only the feature strings, which both packages hold in memory."""
    X, _, _, _ = strings()
    return {"columns": len({name for x in X for token in x for name in token}), "fit_peak_mb": peak()}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run() -> dict[str, Any]:
    return {
        "data": isolated(only_data),
        "default": isolated(ours, {}),
        "seen_pairs": isolated(ours, {"seen_pairs": True}),
        "crfsuite": {str(iterations): isolated(crfsuite, iterations) for iterations in ITERATIONS},
    }


def markdown(result: dict[str, Any]) -> str:
    first = result["default"]["cpu"]
    rows = [
        [f"SequenceTagger({'seen_pairs=True' if name == 'seen_pairs' else ''})", row["cpu"], first / row["cpu"],
         f"{100 * row['accuracy']:.2f}", round(row["fit_peak_mb"]), row["weights"]]
        for name, row in result.items() if name in ("default", "seen_pairs")
    ] + [
        [f"CRFsuite, {iterations} iterations", row["cpu"], first / row["cpu"], f"{100 * row['accuracy']:.2f}",
         round(row["fit_peak_mb"]), None]
        for iterations, row in result["crfsuite"].items()
    ]  # fmt: skip
    head = ["", "CPU s, encoding and training", "speed", "held-out accuracy, %", "peak memory, MB", "weights"]
    return (
        f"# A large tagger\n\n{TOKENS:,} generated tokens, {LABELS} labels, {result['data']['columns']:,} features "
        f"with Zipf frequencies, the same strings for both packages ({result['data']['fit_peak_mb']:.0f} MB before "
        f"training), one thread; held-out accuracy on {TEST_TOKENS:,} tokens. SequenceTagger: default settings. "
        "CRFsuite: L-BFGS with c1 = c2 = 0.1; its iterations are limited, because the "
        "run would take too long otherwise.\n\n" + table(head, rows)
    )

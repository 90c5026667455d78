"""Decoders: Viterbi sequences per second, compared with hmmlearn and, if there is gcc, the same loop in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import table
from maxmargin.structures.chain import _jit

SIZES = ((20, 26), (10, 9), (50, 45))
N = 4000

C_SOURCE = r"""
#include <math.h>
#include <stdlib.h>
/* The loop of our argmax: maxima first, four predecessors at a time; argmaxes are found along the backtrace only.
   scores: (sum of T) x K; pairs: K x K; path: labels out. */
void viterbi(int n, const long *offsets, int K, const double *restrict scores, const double *restrict pairs,
             int *restrict path) {
    long longest = 0;
    for (int i = 0; i < n; i++) if (offsets[i + 1] - offsets[i] > longest) longest = offsets[i + 1] - offsets[i];
    double *table = malloc(sizeof(double) * longest * K), *best = malloc(sizeof(double) * K);
    for (int i = 0; i < n; i++) {
        long first = offsets[i], T = offsets[i + 1] - first;
        for (int k = 0; k < K; k++) table[k] = scores[first * K + k];
        for (long t = 1; t < T; t++) {
            double *row = table + t * K, *before = row - K;
            for (int k = 0; k < K; k++) best[k] = -INFINITY;
            int j = 0;
            for (; j + 4 <= K; j += 4) {
                const double *p0 = pairs + j * K, *p1 = p0 + K, *p2 = p1 + K, *p3 = p2 + K;
                double b0 = before[j], b1 = before[j + 1], b2 = before[j + 2], b3 = before[j + 3];
                for (int k = 0; k < K; k++) {
                    double u = b0 + p0[k] > b1 + p1[k] ? b0 + p0[k] : b1 + p1[k];
                    double v = b2 + p2[k] > b3 + p3[k] ? b2 + p2[k] : b3 + p3[k];
                    double m = u > v ? u : v;
                    best[k] = m > best[k] ? m : best[k];
                }
            }
            for (; j < K; j++)
                for (int k = 0; k < K; k++) {
                    double v = before[j] + pairs[j * K + k];
                    best[k] = v > best[k] ? v : best[k];
                }
            for (int k = 0; k < K; k++) row[k] = scores[(first + t) * K + k] + best[k];
        }
        int state = 0;
        for (int k = 1; k < K; k++) if (table[(T - 1) * K + k] > table[(T - 1) * K + state]) state = k;
        path[first + T - 1] = state;
        for (long t = T - 2; t >= 0; t--) {
            int next = state;
            double value = -INFINITY;
            state = 0;
            for (int j = 0; j < K; j++) {
                double v = table[t * K + j] + pairs[j * K + next];
                if (v > value) { value = v; state = j; }
            }
            path[first + t] = state;
        }
    }
    free(table); free(best);
}
"""


def seconds(task: Callable[[], Any], repeats: int = 7) -> float:
    """Return the fewest CPU seconds of several calls, because the machine is shared."""
    task()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return min(times)


def compiled_c(folder: str) -> Any:
    """Return the C loop as a ctypes function, or None without gcc."""
    if shutil.which("gcc") is None:
        return None
    source, library = Path(folder) / "viterbi.c", Path(folder) / "viterbi.so"
    source.write_text(C_SOURCE)
    subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library)).viterbi


def measured(T: int, K: int, in_c: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    offsets = np.arange(N + 1) * T
    scores, pairs = rng.normal(size=(N * T, K)), rng.normal(size=(K, K))
    zeros, ids = np.zeros(K), np.arange(N)
    labels = np.full(N * T, -1, np.int32)
    codes, losses, rises, keys = np.zeros(N * T, np.int32), np.zeros(N), np.zeros(N), np.zeros(N, np.int64)
    costs, units, scales = 1.0 - np.eye(K), np.ones(N), np.zeros(N)

    def numba() -> None:
        _jit.decode_chains(
            ids, offsets, offsets, labels, scores, pairs, zeros, zeros, np.zeros((0, 0)), costs, np.inf, units,
            scales, codes, losses, rises, keys,
        )  # fmt: skip

    result = {"maxmargin": N / seconds(numba)}
    if in_c is not None:
        path = np.zeros(N * T, np.int32)

        def gcc() -> None:
            in_c(
                N, offsets.ctypes.data_as(ctypes.c_void_p), K, scores.ctypes.data_as(ctypes.c_void_p),
                pairs.ctypes.data_as(ctypes.c_void_p), path.ctypes.data_as(ctypes.c_void_p),
            )  # fmt: skip

        result["gcc"] = N / seconds(gcc)
        assert np.array_equal(path, codes), "the two decoders disagree"
    result["hmmlearn"] = hmmlearn_rate(scores.reshape(N, T, K)[:500], pairs)
    return result


def hmmlearn_rate(scores: np.ndarray, pairs: np.ndarray) -> float:
    """Return the rate of hmmlearn's compiled Viterbi on the same score tables, called once per sequence as intended."""
    from hmmlearn import _hmmc

    start, transition = np.full(pairs.shape[0], 1.0 / pairs.shape[0]), np.exp(pairs)
    transition /= transition.sum(axis=1, keepdims=True)
    return len(scores) / seconds(lambda: [_hmmc.viterbi(start, transition, table) for table in scores], 3)


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        in_c = compiled_c(folder)
        return {"rates": [{"T": T, "K": K, **measured(T, K, in_c)} for T, K in SIZES]}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for rate in result["rates"]:
        ours, gcc = rate["maxmargin"], rate.get("gcc")
        rows.append(
            [rate["T"], rate["K"], round(ours), round(rate["hmmlearn"]), ours / rate["hmmlearn"],
             round(gcc) if gcc else None, gcc / ours if gcc else None]
        )  # fmt: skip
    head = ["T", "K", "maxmargin /s", "hmmlearn /s", "ratio", "gcc -O3 /s", "gcc ÷ maxmargin"]
    return (
        "# Viterbi\n\nSequences decoded per CPU second from given score tables, one thread, best of several runs; both "
        f"compiled decoders give the same labels.\n\n{table(head, rows)}"
    )

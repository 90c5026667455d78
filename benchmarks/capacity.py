"""What a tagger on many machines would cost: figures measured on CoNLL-2002, and a simulation of the schedule.

A sweep: the weights that a machine needs go out from the driver; machines decode chunks, and send answers, which arrive
one after the other over the driver's network; when all have arrived, the driver makes planes and block steps. All of
this is what the library does now, except for one thing: its engines give every worker a copy of all examples, while
here every machine has its own part of them.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock
from benchmarks.report import table
from maxmargin.engines.engine import Question, chunks_of, one_blas_thread
from maxmargin.engines.tasks import Found

#: Tokens and machines of the plan; cores of a machine, bytes per second of a network, seconds of latency, and the price
#: of a core for an hour in dollars: the last four are assumptions.
TOKENS, MACHINES = (10**7, 10**8, 10**9), (1, 10, 100)
CORES, BANDWIDTH, LATENCY, PRICE = 8, 1.25e9, 1e-3, 0.05
#: Tokens of a chunk in the plan, and bytes of a weight, of one that is sent with its index, and of an entry of a plane.
CHUNK_TOKENS, WEIGHT, INDEXED, PLANE = 50_000, 8, 12, 8


@dataclass(frozen=True)
class Costs:
    """Measured costs: CPU seconds and bytes for each token, and others.

    Attributes
    ----------
    encode, decode, driver : float
        CPU seconds of reading and encoding; of argmaxes in a sweep; and of everything else in a sweep.
    spread : list of float
        Time of each chunk of a sweep relative to their mean.
    encoded, answer, planes : float
        Bytes of an encoded token, of the answers about it, and of the planes with dual value at the end.
    message : float
        CPU seconds of the driver for a task of the engine "processes".
    weights, growth : float
        Weights of all tokens measured, and exponent of their growth with the number of tokens.
    tokens, sweeps : int
        Tokens and sweeps measured.
    """

    encode: float
    decode: float
    driver: float
    spread: list[float]
    encoded: float
    answer: float
    planes: float
    message: float
    weights: float
    growth: float
    tokens: int
    sweeps: int

    def weights_of(self, tokens: float) -> float:
        """Return the number of weights that tokens need."""
        return self.weights * (tokens / self.tokens) ** self.growth


def measure() -> Costs:
    X, Y = mm.datasets.load_conll2002("train")
    sizes = []
    for share in (8, 4, 2):
        sizes.append((sum(map(len, X[::share])), encoded(X[::share], Y[::share])[1].dim))
    clock = Clock()
    _, examples = encoded(X, Y)
    encode_cpu, tokens = clock.cpu, int(examples.code_offsets[-1])
    sizes.append((tokens, examples.dim))
    growth = np.polyfit(np.log([s for s, _ in sizes]), np.log([d for _, d in sizes]), 1)[0]
    clock = Clock()
    model = mm.ColumnTagger(n_jobs=1).fit(X, Y)
    fit_cpu, sweeps = clock.cpu, model.n_iter_
    w, answers, times, sent = model.coef_, examples.empty_answers(), [], 0
    ids = np.arange(examples.n_examples)
    with one_blas_thread():
        for chunk in chunks_of(ids):
            some = ids[chunk]
            began = time.process_time()
            Question("decode", w, np.ones(len(some))).ask(examples, some, slice(0, len(some)), answers)
            times.append((time.process_time() - began) / float(np.diff(examples.code_offsets)[some].sum()))
            found = Found.of(examples, some, answers)
            arrays = found.codes, found.losses, found.rises, found.keys, found.upper
            sent += sum(array.nbytes for array in arrays)
    decode = float(np.mean(times))
    assert model.support_ is not None
    held = float(model.support_.planes.nnz * PLANE)
    rows = examples.rows
    return Costs(
        encode=encode_cpu / tokens, decode=decode, driver=max((fit_cpu - encode_cpu) / tokens / sweeps - decode, 0.0),
        spread=[t / decode for t in times], encoded=(rows.indptr.nbytes + rows.indices.nbytes + rows.data.nbytes
        + examples.truths.nbytes) / tokens, answer=sent / tokens, planes=held / tokens, message=per_message(),
        weights=float(examples.dim), growth=float(growth), tokens=tokens, sweeps=int(sweeps),
    )  # fmt: skip


def encoded(X: Any, Y: Any) -> tuple[Any, Any]:
    model = mm.ColumnTagger()
    model._check_parameters()
    return model._encode(X, Y)


def per_message(calls: int = 20) -> float:
    """Return the CPU seconds of the driver for a task, with few weights and short sentences."""
    X = [[("a",), ("b",)]] * 1024
    _, examples = encoded(X, [["A", "B"]] * 1024)
    answers, ids = examples.empty_answers(), np.arange(1024)
    with mm.engines.Processes(1) as engine:
        question = Question("decode", np.zeros(examples.dim), np.ones(1024))
        engine.ask(examples, question, ids, answers)  # starts the worker
        clock = Clock()
        for _ in range(calls):
            engine.ask(examples, question, ids, answers)
        return clock.cpu / calls / len(chunks_of(ids))


def arithmetic(costs: Costs, tokens: int, machines: int) -> dict[str, float]:
    """Return seconds of a sweep, by parts that follow each other, and memory, traffic and price of a fit."""
    part = tokens / machines
    remote = machines > 1
    out = machines * INDEXED * costs.weights_of(part) / BANDWIDTH + LATENCY if remote else 0.0
    back = costs.answer * tokens / BANDWIDTH if remote else 0.0
    decode = costs.decode * part / CORES
    messages = costs.message * tokens / CHUNK_TOKENS if remote else 0.0
    driver = costs.driver * tokens + messages
    sweep = out + max(decode, back) + driver
    fit = costs.encode * part / CORES * 2 + costs.sweeps * sweep
    return {
        "out": out, "decode": decode, "back": back, "driver": driver, "sweep": sweep, "fit": fit,
        "worker_gb": costs.encoded * part / 1e9, "planes_gb": costs.planes * tokens / 1e9,
        "weights_gb": WEIGHT * costs.weights_of(tokens) / 1e9,
        "traffic_gb": (machines * INDEXED * costs.weights_of(part) + costs.answer * tokens) / 1e9 if remote else 0.0,
        "dollars": fit / 3600 * machines * CORES * PRICE,
    }  # fmt: skip


def simulated(costs: Costs, tokens: int, machines: int, seed: int = 0) -> float:
    """Return the seconds of a sweep: chunks with times drawn from those measured, one network, one driver."""
    rng, part = np.random.default_rng(seed), tokens / machines
    remote, per_machine = machines > 1, max(1, round(part / CHUNK_TOKENS))
    each = INDEXED * costs.weights_of(part) / BANDWIDTH if remote else 0.0
    size = part / per_machine
    arrivals: list[float] = []
    for machine in range(machines):
        begin = (machine + 1) * each + (LATENCY if remote else 0.0)  # weights go out one machine after the other
        cores = [begin] * CORES
        for spread in rng.choice(costs.spread, per_machine):
            free = heapq.heappop(cores) + size * costs.decode * float(spread)
            heapq.heappush(cores, free)
            arrivals.append(free)
    clock, handled = 0.0, 0.0
    for arrival in sorted(arrivals):
        clock = max(clock, arrival) + (size * costs.answer / BANDWIDTH if remote else 0.0)
        handled = max(handled, clock) + (costs.message if remote else 0.0)
    return handled + costs.driver * tokens


def run() -> dict[str, Any]:
    costs = measure()
    plan = [
        {"tokens": tokens, "machines": machines, **arithmetic(costs, tokens, machines),
         "simulated": simulated(costs, tokens, machines)}
        for tokens in TOKENS
        for machines in MACHINES
    ]  # fmt: skip
    return {"costs": vars(costs), "plan": plan}


def markdown(result: dict[str, Any]) -> str:
    costs, plan = result["costs"], result["plan"]
    measured = [
        ["reading words and encoding, CPU µs per token", 1e6 * costs["encode"]],
        ["argmaxes, CPU µs per token and sweep", 1e6 * costs["decode"]],
        ["slowest of 16 chunks relative to the mean", max(costs["spread"])],
        ["planes, block steps and the rest of the driver, CPU µs per token and sweep", 1e6 * costs["driver"]],
        ["driver, CPU ms per message", 1e3 * costs["message"]],
        ["encoded examples, bytes per token", costs["encoded"]],
        ["answers, bytes per token", costs["answer"]],
        ["planes with dual value at the end, bytes per token", costs["planes"]],
        ["weights", costs["weights"]],
        ["exponent of their growth with tokens", costs["growth"]],
        ["sweeps", costs["sweeps"]],
    ]
    rows = [
        [
            f"{p['tokens']:.0e}", p["machines"], *(f"{p[k]:.3g}" for k in ("out", "decode", "back", "driver", "sweep")),
            f"{p['simulated']:.3g}", f"{p['fit'] / 3600:.3g}", f"{p['worker_gb']:.3g}",
            f"{p['planes_gb'] + p['weights_gb']:.3g}", f"{p['traffic_gb']:.3g}", f"{p['dollars']:.3g}",
        ]
        for p in plan
    ]  # fmt: skip
    head = [
        "tokens", "machines", "weights out, s", "argmaxes", "answers back", "driver", "sweep, s", "simulated, s",
        "fit, h", "examples per machine, GB", "planes and weights on the driver, GB", "traffic per sweep, GB", "fit, $",
    ]  # fmt: skip
    return (
        f"# Capacity of many machines\n\nMeasured with `ColumnTagger` on the {costs['tokens']:,} training tokens of "
        "CoNLL-2002 (Spanish), one core.\n\n"
        + table(["", "measured"], measured)
        + f"\n\nWhat follows for more tokens on machines of {CORES} cores, if each held its own part of the examples "
        f"(extrapolated: nothing of this size was run). Assumed: a network of {BANDWIDTH / 1e9:g} GB/s at the driver, "
        f"{1e3 * LATENCY:g} ms of latency, {PRICE} $ per core and hour, and as many sweeps as were measured. A sweep "
        "is weights out + the longer of argmaxes and answers + driver; the simulation draws the time of every chunk of "
        f"{CHUNK_TOKENS:,} tokens from those measured, sends weights and answers one after the other, and queues "
        "messages at the driver.\n\n" + table(head, rows)
    )

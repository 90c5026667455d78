"""Workers of argmaxes in Python that are killed at random times: fits keep their bits."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock

#: Number of examples, and of workers.
EXAMPLES, WORKERS = 160, 2
#: Workers killed in all, seconds of an argmax meanwhile, and seconds after a step within which one is killed.
KILLS, KILLED_SECONDS, SOON = 100, 0.002, 0.3


class Signs(mm.Structure):
    """Signs of four numbers, found by a solver that takes its time."""

    size = 3

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def joint_feature(self, x: Any, y: Any) -> Any:
        return x.T @ np.asarray(y, float)

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(np.sum(np.asarray(y) != np.asarray(y_hat)))

    def argmax(self, w: Any, x: Any) -> Any:
        return self._signs(x @ w)

    def loss_augmented_argmax(self, w: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._signs(x @ w - 0.5 * scale * np.asarray(y))

    def _signs(self, gains: Any) -> list[int]:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return [1 if gain > 0 else -1 for gain in gains]


def data() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(EXAMPLES)]
    return X, [[1 if s > 0 else -1 for s in x @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=4)] for x in X]


def killed() -> dict[str, Any]:
    """Fit again and again, and kill a random worker at a random time after every step, KILLS in all."""
    (X, y), rng, kills, fits, same = data(), np.random.default_rng(1), 0, 0, 0
    plain = mm.StructuralSVM(Signs(KILLED_SECONDS), tol=1e-4).fit(X, y)
    clock = Clock()
    with mm.engines.Processes(WORKERS) as engine:

        def kill() -> None:
            nonlocal kills
            workers = engine.worker_ids()
            if workers and kills < KILLS:
                with suppress(ProcessLookupError):
                    os.kill(int(rng.choice(workers)), signal.SIGKILL)
                    kills += 1

        while kills < KILLS:
            timers: list[threading.Timer] = []

            def soon(step: Any, timers: list[threading.Timer] = timers) -> None:
                for timer in timers:
                    timer.cancel()
                timers.append(threading.Timer(rng.uniform(0.0, SOON), kill))
                timers[-1].start()

            model = mm.StructuralSVM(Signs(KILLED_SECONDS), tol=1e-4, engine=engine, callbacks=[soon]).fit(X, y)
            for timer in timers:
                timer.cancel()
                timer.join()
            fits, same = fits + 1, same + (model.coef_.tobytes() == plain.coef_.tobytes())
    return {"kills": kills, "fits": fits, "same": same, "wall": clock.wall}


def run() -> dict[str, Any]:
    return {"killed": killed()}


def markdown(result: dict[str, Any]) -> str:
    found = result["killed"]
    return (
        "# Workers that are killed\n\n"
        f"Fits of {EXAMPLES} examples of a user-defined structure whose argmax runs Python for "
        f"{1000 * KILLED_SECONDS:g} ms, by `engine=Processes({WORKERS})`. "
        f"A random worker was killed by SIGKILL within {SOON} s after every step, "
        f"{found['kills']} in all, in {found['fits']} fits, of which {found['same']} have the same bits as in this "
        f"process; {found['wall'] / max(found['kills'], 1):.1f} s of wall time per kill, "
        f"work between kills included."
    )

"""Hyper-parameters of the default solver that are worth tuning.

All others are constants of the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Hyper-parameters shared by the rounds of `ProximalWorkingSets`, which documents them."""

    first_sweeps: int = 2
    most_slots: int = 64
    keep_rounds: int = 4
    moves: int = 6
    inner_gap: float = 0.2
    cheap_share: float = 1.3
    most_passes: int = 50
    passes_per_move: int = 3
    patience: int = 8
    large: float = 1e4
    joint_share: float = 4.0
    most_cuts: int = 100

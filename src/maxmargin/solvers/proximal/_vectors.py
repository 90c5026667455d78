"""Kernels over whole weight vectors, in place: allocating a long vector costs more than computing it."""

from __future__ import annotations

from maxmargin._compile import kernel


@kernel
def move_to(w, z, rho, new_rho, move):
    """Set z to w if `move`, then w = ((ρ' − 1) z + u) / ρ' for the u of the present w, z and ρ."""
    for j in range(len(w)):
        u = rho * w[j] - (rho - 1.0) * z[j]
        if move:
            z[j] = w[j]
        w[j] = ((new_rho - 1.0) * z[j] + u) / new_rho


@kernel
def weights_of(u, z, rho, w):
    """Set w = ((ρ − 1) z + u) / ρ."""
    for j in range(len(w)):
        w[j] = ((rho - 1.0) * z[j] + u[j]) / rho


@kernel
def products(w, z, rho):
    """Return ½‖u − w‖² and u·w for u = ρ w − (ρ − 1) z."""
    square, product = 0.0, 0.0
    for j in range(len(w)):
        u = rho * w[j] - (rho - 1.0) * z[j]
        square += (u - w[j]) * (u - w[j])
        product += u * w[j]
    return 0.5 * square, product

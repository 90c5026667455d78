"""Turner's energies of RNA in the terms of `Folding`, from ViennaRNA: `python -m benchmarks.turner`.

Writes `src/maxmargin/structures/folding/turner2004.csv`, the prior of `RNAFolder`. The energies are those of Mathews et
al. (2004) as ViennaRNA has them (37 °C, dangles on both sides, ``-d2``). ViennaRNA evaluates structures, which are of
two kinds: structures drawn from the ensembles of random sequences, at three temperatures so that rare loops occur too,
and single loops of every length between two helices. Ridge regression on the counts of terms finds the weights whose
sums are closest to −energy. One structure of ten is held out; its errors are printed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

import maxmargin as mm
from benchmarks.report import FOLDER

#: Random sequences, structures drawn of each, and their range of lengths.
SEQUENCES, DRAWN, LENGTHS = 8000, 6, (18, 100)
#: Factors of the energies of ensembles: small ones make structures of high energy likely.
FACTORS = (0.25, 0.5, 1.0)
#: Loops of each shape, with other bases each.
OF_EACH_SHAPE = 12
#: Weight of the ridge: terms that never occur have the weight 0.
RIDGE = 1.0
TABLE = FOLDER.parents[1] / "src" / "maxmargin" / "structures" / "folding" / "turner2004.csv"


def bases(rng: np.random.Generator, n: int) -> str:
    return "".join(rng.choice(list("ACGU"), n))


def drawn(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield structures from the ensembles of random sequences of several compositions."""
    import RNA

    RNA.init_rand(0)
    for _ in range(SEQUENCES):
        shares = rng.dirichlet([6, 6, 6, 6])
        x = "".join(rng.choice(list("ACGU"), int(rng.integers(*LENGTHS)), p=shares))
        settings = RNA.md()
        settings.uniq_ML, settings.betaScale = 1, float(rng.choice(FACTORS))
        folded = RNA.fold_compound(x, settings)
        folded.exp_params_rescale(folded.mfe()[1])
        folded.pf()
        yield from ((x, y) for y in sorted(set(folded.pbacktrack(DRAWN))) if "(" in y)


def designed(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield hairpins, bulges and interior loops of every length between helices."""
    helices = ["AU", "CG", "GC", "GU", "UA", "UG"]

    def helix() -> tuple[str, str]:
        pairs = rng.choice(helices, 3)
        return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs[::-1])

    for _ in range(OF_EACH_SHAPE):
        for n in range(3, 36):
            (a, b), loop = helix(), bases(rng, n)
            yield f"{a}{loop}{b}", f"((({'.' * n})))"
        for left in range(31):
            for right in range(31 - left):
                (a, d), (b, c) = helix(), helix()
                x = f"{a}{bases(rng, left)}{b}{bases(rng, 4)}{c}{bases(rng, right)}{d}"
                yield x, f"((({'.' * left}(((....))){'.' * right})))"


def counts(structure: mm.Folding, X: list[str], Y: list[str]) -> csr_matrix:
    """Return the counts of terms, a row for each structure."""
    examples = structure.fit_encode(X, Y)
    rows = examples.parts(np.arange(len(X)), examples.truths)[0]
    return csr_matrix((rows.values, rows.indices.astype(np.int64), rows.indptr), (len(X), structure.terms.size))


def main() -> None:
    import RNA

    rng, structure = np.random.default_rng(0), mm.Folding()
    X, Y = (list(part) for part in zip(*drawn(rng), *designed(rng), strict=True))
    energies = np.array([RNA.eval_structure_simple(x, y) for x, y in zip(X, Y, strict=True)])
    terms, held_out = counts(structure, X, Y), np.arange(len(X)) % 10 == 0
    some = terms[~held_out]
    normal = (some.T @ some).toarray() + RIDGE * np.eye(terms.shape[1])
    weights = np.round(np.linalg.solve(normal, -(some.T @ energies[~held_out])), 3) + 0.0
    errors = terms[held_out] @ weights + energies[held_out]
    print(
        f"{len(X)} structures; on {held_out.sum()} others: rms error {np.sqrt(np.mean(errors**2)):.3f} kcal/mol, "
        f"R² {1 - np.mean(errors**2) / energies[held_out].var():.4f}"
    )
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kind", "term", "score"])
        names = [(kind, name) for kind, table in structure.tables().items() for name in table.columns]
        rows.writerows((*name, f"{weight:g}") for name, weight in zip(names, weights, strict=True))
    print(f"written: {TABLE.name}, ViennaRNA {RNA.__version__}")


if __name__ == "__main__":
    main()

"""Print how many statements of each room the tests have run, from the data that `make coverage` has collected."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import coverage

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
#: Rooms below this share of statements are listed with their files.
LOW = 90.0


def main() -> None:
    """Print a line for each room, and for each file of rooms below `LOW`."""
    data = coverage.Coverage()
    data.load()
    every, missed, files = Counter(), Counter(), {}
    for path in sorted(PACKAGE.rglob("*.py")):
        _, statements, _, missing, lines = data.analysis2(str(path))
        name = path.relative_to(PACKAGE)
        room = name.parts[0] if len(name.parts) > 1 else "modules of the package itself"
        every[room] += len(statements)
        missed[room] += len(missing)
        files.setdefault(room, []).append((len(missing), len(statements), f"{name}: {lines}"))
    for room in sorted(every, key=lambda room: missed[room] / max(every[room], 1), reverse=True):
        share = 100.0 * (1.0 - missed[room] / max(every[room], 1))
        print(f"{share:6.1f} % of {every[room]:6d} statements: {room}")
        for n_missing, n_statements, where in sorted(files[room], reverse=True):
            if share < LOW and n_missing:
                print(f"           {n_missing} of {n_statements} missed in {where}")
    total, lost = every.total(), missed.total()
    print(f"{100.0 * (1.0 - lost / total):6.1f} % of {total:6d} statements in all; compiled functions are not counted")


if __name__ == "__main__":
    main()

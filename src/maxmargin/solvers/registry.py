from maxmargin.solvers.proximal import ProximalWorkingSets
from maxmargin.solvers.base import Solver
SOLVERS = {"auto": ProximalWorkingSets}
def resolve(solver):
    if isinstance(solver, Solver): return solver
    return SOLVERS[solver]()

"""Every parameter is checked once in a fit, and before data are looked at."""

from collections import Counter

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.estimators import base
from maxmargin.estimators.rows import multiclass
from maxmargin.estimators.text import tagger
from maxmargin.solvers.base import Solver
from maxmargin.structures import multiclass as multiclass_structure
from maxmargin.structures.chain import structure as chain_structure

CHAINS = mm.datasets.make_chains(12, random_state=0)
ROWS = (np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.2]]), [0, 1, 1, 0])
TAGGER = {"fit_intercept", "start_end", "transition_features"}


@pytest.fixture
def calls(monkeypatch):
    """Counts of checks: of declared parameters, of the solver's, of C, and of flags of structures and costs by name."""
    counts = Counter()

    def counted(function, name_of):
        def count(*arguments):
            counts[name_of(*arguments)] += 1
            return function(*arguments)

        return count

    for name in ("check_parameters", "check_trade_off"):
        monkeypatch.setattr(Solver, name, counted(getattr(Solver, name), lambda *_, name=name: name))
    monkeypatch.setattr(base, "check_declared", counted(base.check_declared, lambda _: "declared"))
    for module in (multiclass_structure, chain_structure):
        monkeypatch.setattr(module, "check_flag", counted(module.check_flag, lambda value, name: name))
    for module in (multiclass, tagger, multiclass_structure, chain_structure):
        monkeypatch.setattr(module, "check_costs", counted(module.check_costs, lambda costs, names, name: name))
    return counts


@pytest.mark.parametrize(
    ("estimator", "data", "checked"),
    [
        (mm.SequenceTagger(), CHAINS, {"loss"}),
        (mm.SequenceTagger(bound="ramp"), CHAINS, {"loss"}),
        (mm.StructuralSVM(mm.Chain()), CHAINS, {"cost", "seen_pairs"} | TAGGER),
        (mm.MulticlassSVM(), ROWS, {"loss"}),
        (mm.StructuralSVM(mm.Multiclass()), ROWS, {"cost", "fit_intercept"}),
    ],
    ids=["tagger", "ramp", "chain", "rows", "multiclass"],
)
def test_a_fit_checks_every_parameter_once(estimator, data, checked, calls):
    estimator.fit(*data)
    assert calls == dict.fromkeys(checked | {"declared", "check_parameters", "check_trade_off"}, 1)


def test_a_path_checks_parameters_once_and_every_C(calls):
    mm.regularization_path(mm.SequenceTagger(), *CHAINS, [0.1, 0.2, 0.3])
    assert calls.pop("check_trade_off") == 4
    assert calls == dict.fromkeys({"loss", "declared", "check_parameters"}, 1)


@pytest.mark.parametrize("structure", [mm.Chain(cost="f1"), mm.Multiclass(cost="f1")])
def test_a_structure_used_by_itself_checks_its_parameters(structure, calls):
    with pytest.raises(ValueError, match="cost must be"):
        structure.fit(*CHAINS)
    assert calls["cost"] == 1


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (mm.SequenceTagger(solver=mm.solvers.NSlack(epsilon=-1.0)).fit, "NSlack: epsilon must be a number"),
        (mm.SequenceTagger(loss="f1").fit, "loss must be"),
        (mm.StructuralSVM(mm.Chain(cost="f1")).fit, "cost must be"),
        (lambda X, Y: mm.regularization_path(mm.SequenceTagger(), X, Y, [1.0, -1.0]), "C must be a number > 0"),
    ],
)
def test_parameters_are_checked_before_data(fit, message):
    with pytest.raises(ValueError, match=message):
        fit("not data", None)

"""maxmargin learns the objective of any argmax: max-margin structured prediction with a certificate.

Names are imported when they are first used, so that ``import maxmargin`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin import datasets as datasets
    from maxmargin import formats as formats
    from maxmargin import metrics as metrics
    from maxmargin import solvers as solvers
    from maxmargin.bounds import Bound as Bound
    from maxmargin.cccp import InexactArgmaxWarning as InexactArgmaxWarning
    from maxmargin.certificate import Certificate as Certificate
    from maxmargin.estimators.checks import structured_estimator_checks as structured_estimator_checks
    from maxmargin.estimators.column_tagger import ColumnTagger as ColumnTagger
    from maxmargin.estimators.explain import Decision as Decision
    from maxmargin.estimators.explain import Support as Support
    from maxmargin.estimators.forest_clustering import ForestClustering as ForestClustering
    from maxmargin.estimators.latent import LatentStructuralSVM as LatentStructuralSVM
    from maxmargin.estimators.motif_finder import MotifFinder as MotifFinder
    from maxmargin.estimators.multiclass import MulticlassSVM as MulticlassSVM
    from maxmargin.estimators.path import regularization_path as regularization_path
    from maxmargin.estimators.precision_at_k import PrecisionAtK as PrecisionAtK
    from maxmargin.estimators.structural import StructuralSVM as StructuralSVM
    from maxmargin.estimators.tagger import SequenceTagger as SequenceTagger
    from maxmargin.model_files import load as load
    from maxmargin.plots.bounds import BoundDisplay as BoundDisplay
    from maxmargin.plots.convergence import ConvergenceDisplay as ConvergenceDisplay
    from maxmargin.plots.motif import MotifDisplay as MotifDisplay
    from maxmargin.plots.transitions import TransitionDisplay as TransitionDisplay
    from maxmargin.solvers.hard_margin import NotSeparableError as NotSeparableError
    from maxmargin.structures.base import Structure as Structure
    from maxmargin.structures.base import StructureError as StructureError
    from maxmargin.structures.chain import Chain as Chain
    from maxmargin.structures.check import Report as Report
    from maxmargin.structures.check import check_structure as check_structure
    from maxmargin.structures.constraints import Constraints as Constraints
    from maxmargin.structures.constraints import bio_constraints as bio_constraints
    from maxmargin.structures.constraints import bioes_constraints as bioes_constraints
    from maxmargin.structures.constraints import repair_bio as repair_bio
    from maxmargin.structures.forest import Forest as Forest
    from maxmargin.structures.motif import Motif as Motif
    from maxmargin.structures.motif import MotifSite as MotifSite
    from maxmargin.structures.multiclass import Multiclass as Multiclass
    from maxmargin.structures.precision_at_k import TopDocuments as TopDocuments
    from maxmargin.structures.precision_at_k import TopK as TopK
    from maxmargin.templates import TokenTemplates as TokenTemplates
    from maxmargin.training import Step as Step

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    "Bound": "bounds",
    "BoundDisplay": "plots.bounds",
    "Certificate": "certificate",
    "Chain": "structures.chain",
    "ColumnTagger": "estimators.column_tagger",
    "Constraints": "structures.constraints",
    "ConvergenceDisplay": "plots.convergence",
    "Decision": "estimators.explain",
    "Forest": "structures.forest",
    "ForestClustering": "estimators.forest_clustering",
    "InexactArgmaxWarning": "cccp",
    "LatentStructuralSVM": "estimators.latent",
    "Motif": "structures.motif",
    "MotifDisplay": "plots.motif",
    "MotifFinder": "estimators.motif_finder",
    "MotifSite": "structures.motif",
    "Multiclass": "structures.multiclass",
    "MulticlassSVM": "estimators.multiclass",
    "NotSeparableError": "solvers.hard_margin",
    "PrecisionAtK": "estimators.precision_at_k",
    "Report": "structures.check",
    "SequenceTagger": "estimators.tagger",
    "Step": "training",
    "StructuralSVM": "estimators.structural",
    "Structure": "structures.base",
    "StructureError": "structures.base",
    "Support": "estimators.explain",
    "TokenTemplates": "templates",
    "TopDocuments": "structures.precision_at_k",
    "TopK": "structures.precision_at_k",
    "TransitionDisplay": "plots.transitions",
    "bio_constraints": "structures.constraints",
    "bioes_constraints": "structures.constraints",
    "check_structure": "structures.check",
    "load": "model_files",
    "regularization_path": "estimators.path",
    "repair_bio": "structures.constraints",
    "structured_estimator_checks": "estimators.checks",
}
_MODULES = {"datasets", "formats", "metrics", "solvers"}

__all__ = [*sorted(_HOMES), *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(f"maxmargin.{name}")
    elif name in _HOMES:
        value = getattr(import_module(f"maxmargin.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]

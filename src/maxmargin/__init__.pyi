# The one list of public names: lazy exports, model files, checks and docs/names.md follow from it.
from . import datasets as datasets
from . import formats as formats
from . import metrics as metrics
from . import solvers as solvers
from .bounds import Bound as Bound
from .checking.check import Report as Report
from .checking.check import check_structure as check_structure
from .core.certificate import Certificate as Certificate
from .core.structure import Structure as Structure
from .core.structure import StructureError as StructureError
from .encoding.templates import TokenTemplates as TokenTemplates
from .estimators.checks import structured_estimator_checks as structured_estimator_checks
from .estimators.column_tagger import ColumnTagger as ColumnTagger
from .estimators.explain import Decision as Decision
from .estimators.explain import Support as Support
from .estimators.forest_clustering import ForestClustering as ForestClustering
from .estimators.latent import LatentStructuralSVM as LatentStructuralSVM
from .estimators.motif_finder import MotifFinder as MotifFinder
from .estimators.multiclass import MulticlassSVM as MulticlassSVM
from .estimators.path import regularization_path as regularization_path
from .estimators.precision_at_k import PrecisionAtK as PrecisionAtK
from .estimators.structural import StructuralSVM as StructuralSVM
from .estimators.tagger import SequenceTagger as SequenceTagger
from .io.models import load as load
from .plots.bounds import BoundDisplay as BoundDisplay
from .plots.convergence import ConvergenceDisplay as ConvergenceDisplay
from .plots.motif import MotifDisplay as MotifDisplay
from .plots.transitions import TransitionDisplay as TransitionDisplay
from .solvers.feasibility import NotSeparableError as NotSeparableError
from .structures.chain.constraints import Constraints as Constraints
from .structures.chain.constraints import bio_constraints as bio_constraints
from .structures.chain.constraints import bioes_constraints as bioes_constraints
from .structures.chain.constraints import repair_bio as repair_bio
from .structures.chain.structure import Chain as Chain
from .structures.forest.structure import Forest as Forest
from .structures.motif.structure import Motif as Motif
from .structures.motif.structure import MotifSite as MotifSite
from .structures.multiclass import Multiclass as Multiclass
from .structures.top_k.structure import TopDocuments as TopDocuments
from .structures.top_k.structure import TopK as TopK
from .training.cccp import InexactArgmaxWarning as InexactArgmaxWarning
from .training.run import Step as Step

__version__: str
__all__: list[str]

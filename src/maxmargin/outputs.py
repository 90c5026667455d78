"""Values that structures, estimators and checks return: outputs of latent structures and rankings, support, reports."""

from maxmargin.custom.check import Report
from maxmargin.custom.joint_kernel import KernelWeights
from maxmargin.estimators.biology.substitution import IntegerScores
from maxmargin.estimators.explain import Explanation, Support, SupportPlane
from maxmargin.estimators.graphs.cut_segmenter import MaskExplanation
from maxmargin.structures.alignment.decoy_examples import ChosenAlignment
from maxmargin.structures.motif.structure import MotifSite
from maxmargin.structures.ranking.outputs import RankedDocuments, SelectedDocuments, SwappedPairs, TopDocuments
from maxmargin.training.run import Step

__all__ = [
    "ChosenAlignment",
    "Explanation",
    "IntegerScores",
    "KernelWeights",
    "MaskExplanation",
    "MotifSite",
    "RankedDocuments",
    "Report",
    "SelectedDocuments",
    "Step",
    "Support",
    "SupportPlane",
    "SwappedPairs",
    "TopDocuments",
]

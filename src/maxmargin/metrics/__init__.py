"""Metrics of predictions: entities, tokens, trees, clusters, rankings, classes, decisions, images, sequences."""

from maxmargin.metrics.alignments import alignment_precision, alignment_recall, q_score
from maxmargin.metrics.base_pairs import BasePairScores, base_pair_scores
from maxmargin.metrics.brackets import BracketScores, bracket_scores
from maxmargin.metrics.calibration import calibration_bins, decision_confidences, expected_calibration_error
from maxmargin.metrics.clusters import ClusterScores, b_cubed, ceaf, mitre_loss, muc, pair_loss
from maxmargin.metrics.coverage import coverage_by_rank, subtopic_coverage
from maxmargin.metrics.decisions import regret
from maxmargin.metrics.entities import (
    EntityScores,
    TypeScores,
    entity_f1,
    entity_f1_score,
    entity_spans,
    is_entity_scheme,
)
from maxmargin.metrics.masks import intersection_over_union
from maxmargin.metrics.ranking import (
    expected_reciprocal_rank,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_at_k,
    pair_accuracy,
    precision_at_k,
)
from maxmargin.metrics.taxonomies import tree_loss
from maxmargin.metrics.tokens import token_accuracy

__all__ = [
    "BasePairScores",
    "BracketScores",
    "ClusterScores",
    "EntityScores",
    "TypeScores",
    "alignment_precision",
    "alignment_recall",
    "b_cubed",
    "base_pair_scores",
    "bracket_scores",
    "calibration_bins",
    "ceaf",
    "coverage_by_rank",
    "decision_confidences",
    "entity_f1",
    "entity_f1_score",
    "entity_spans",
    "expected_calibration_error",
    "expected_reciprocal_rank",
    "intersection_over_union",
    "is_entity_scheme",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "mitre_loss",
    "muc",
    "ndcg_at_k",
    "pair_accuracy",
    "pair_loss",
    "precision_at_k",
    "q_score",
    "regret",
    "subtopic_coverage",
    "token_accuracy",
    "tree_loss",
]

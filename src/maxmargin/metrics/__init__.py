"""Metrics of predictions: entities of BIO labels, tokens, clusters, rankings, decisions, labelled images."""

from maxmargin.metrics.clusters import ClusterScores, b_cubed, ceaf, mitre_loss, muc, pair_loss
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
from maxmargin.metrics.ranking import precision_at_k
from maxmargin.metrics.tokens import token_accuracy

__all__ = [
    "ClusterScores",
    "EntityScores",
    "TypeScores",
    "b_cubed",
    "ceaf",
    "entity_f1",
    "entity_f1_score",
    "entity_spans",
    "intersection_over_union",
    "is_entity_scheme",
    "mitre_loss",
    "muc",
    "pair_loss",
    "precision_at_k",
    "regret",
    "token_accuracy",
]

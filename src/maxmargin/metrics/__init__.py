"""How good predictions are: entities of BIO labels, tokens."""

from maxmargin.metrics.entities import (
    EntityScores,
    TypeScores,
    entity_f1,
    entity_f1_score,
    entity_spans,
    is_entity_scheme,
)
from maxmargin.metrics.tokens import token_accuracy

__all__ = [
    "EntityScores",
    "TypeScores",
    "entity_f1",
    "entity_f1_score",
    "entity_spans",
    "is_entity_scheme",
    "token_accuracy",
]

"""maxmargin learns the objective of any argmax: max-margin structured prediction with a certificate."""

from maxmargin.structures.base import Structure

"""Solvers that hold sums of planes of all examples: 1-slack cutting planes and the proximal bundle."""

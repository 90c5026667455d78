"""Which weights minimise the objective: one file per solver, all with the same certificate."""

"""User-defined structures: four Python methods."""

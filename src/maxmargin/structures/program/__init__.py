"""Linear and mixed-integer programs."""

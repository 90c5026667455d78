"""Sets of labels for each row of features."""

"""Rows of features, labels, hierarchies of labels and costs of confusing them."""

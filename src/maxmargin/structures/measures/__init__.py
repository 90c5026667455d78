"""Measures of a whole set of rows: contingency tables, areas under ROC curves, average precision."""

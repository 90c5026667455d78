"""Estimators of labels of rows."""

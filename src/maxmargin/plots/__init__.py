"""Plots of fitted models (matplotlib: extra ``plot``)."""

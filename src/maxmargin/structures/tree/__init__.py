"""Spanning trees, directed and undirected."""

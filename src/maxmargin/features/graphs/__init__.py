"""Nodes, edges, arcs and pairs of items, images included."""

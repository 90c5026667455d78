"""Matchings of bipartite graphs: assignments of left nodes to right nodes."""

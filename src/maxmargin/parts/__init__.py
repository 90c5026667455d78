"""Structures whose scores are sums over parts: arcs, spans, cells, pairs, rows."""

"""Weighted context-free grammars read off a treebank."""

"""Classes that are nodes of a tree or of a directed graph without cycles."""

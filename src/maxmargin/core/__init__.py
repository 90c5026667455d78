"""Planes, codes, examples, structures, objective, certificate and problem: the base of all other packages."""

"""Planes, examples, structures, objective, certificate and problem.

All other packages build on this one.
"""

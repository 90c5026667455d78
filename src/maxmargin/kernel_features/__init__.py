"""Kernels on the features of parts, as explicit features that every structure and solver can use."""

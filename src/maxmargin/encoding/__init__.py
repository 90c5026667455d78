"""Inputs and outputs as people have them, encoded as flat arrays."""

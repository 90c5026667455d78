"""Structures: joint features, losses and argmaxes, one file or folder per output space."""

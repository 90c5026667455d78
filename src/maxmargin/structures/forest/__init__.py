"""Clusterings by a latent spanning forest."""

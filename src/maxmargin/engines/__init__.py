"""Engines: where the argmaxes run."""

from maxmargin.engines.local import Local

__all__ = ["Local"]

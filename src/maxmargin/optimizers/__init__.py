"""Optimisers whose costs are learnt: any function that decides, and ready ones."""

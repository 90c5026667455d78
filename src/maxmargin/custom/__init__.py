"""Structures that users define: four Python methods."""

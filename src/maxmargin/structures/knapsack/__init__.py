"""Choices of items within a capacity.

Parts are items, and the code of a choice is 1 for each chosen item and 0 for each other. Argmaxes are exact: a table
over capacities if weights are integers and the table is small (`_jit.py`), otherwise a list of undominated choices
(`_states.py`). If that list would be long, HiGHS solves the program (`algorithms/highs.py`).
"""

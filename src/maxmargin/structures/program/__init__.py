"""Linear and mixed-integer programs.

Parts are variables, and the code of a decision is the bits of its numbers, after a 0. HiGHS finds the argmaxes
(`algorithms/highs.py`), with a time limit or a relative gap if the user sets one; its proven bound then keeps
certificates valid. The loss is linear because it counts only variables whose true value is at one of their bounds.
`_integral.py` decides whether the linear program has integer solutions only, in which case joint programs are exact.
"""

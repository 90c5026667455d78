"""Solvers that hold weights only: subgradient methods and the averaged perceptron."""

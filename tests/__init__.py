"""Tests of maxmargin; a package so that tests can import what they share from `tests.helpers`."""

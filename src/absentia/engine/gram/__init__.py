"""Compiled loops over the pairs of a Gram matrix."""

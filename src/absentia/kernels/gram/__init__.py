"""Gram matrices of the expected RBF: the dispatch table and its paths."""

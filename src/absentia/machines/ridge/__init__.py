"""Kernel ridge regression, by a factorisation or by conjugate gradients."""

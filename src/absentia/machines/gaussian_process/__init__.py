"""Gaussian processes for regression and classification."""

"""Compiled loops over patterns of missing values: solves, inverses and expected moments."""

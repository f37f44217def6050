"""Experiments: protocols, the runner that keeps their results, statistics and the report."""

"""Benchmarks: how fast absentia is, and how it does on the tables of the papers."""

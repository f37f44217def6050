"""Measurements that take minutes: ``python -m benchmarks.scale [measurement ...]``."""

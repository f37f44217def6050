"""Measurements that take minutes: ``python -m lab.scale [measurement ...]``."""

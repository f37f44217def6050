"""Speed, as ratios measured in one process: ``python -m benchmarks.speed``."""

"""Speed, as ratios measured in one process: ``python -m lab.speed``."""

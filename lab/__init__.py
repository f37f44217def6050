"""The laboratory: baselines, experiments, benchmarks and the demonstration; not in the wheel."""

"""Data sets of the experiments and the sources they come from."""

"""The EM algorithm: E-step, M-step, acceleration, starting points."""

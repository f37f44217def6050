"""Hyperparameters by cross-validation or leave-one-out, on shared Gram matrices."""

"""The density before anything is observed: weights, means, covariances, categories."""

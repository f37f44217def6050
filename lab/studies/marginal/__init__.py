"""Effect of averaging over draws on the predictions of any model."""

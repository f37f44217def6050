"""Effect of widths per column on the predictions of a Gaussian process."""

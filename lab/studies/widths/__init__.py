"""What widths of columns do for the predictions of a Gaussian process."""

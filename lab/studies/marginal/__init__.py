"""What averaging over draws does for the predictions of any model."""

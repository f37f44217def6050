"""What one column holds and how it is read."""

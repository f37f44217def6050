"""From a raw frame to a fitted model and its answers."""

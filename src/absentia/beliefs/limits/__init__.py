"""Values of which only limits are known."""

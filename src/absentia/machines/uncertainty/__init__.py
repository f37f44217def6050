"""How uncertain predictions for incomplete rows are, and where that comes from."""

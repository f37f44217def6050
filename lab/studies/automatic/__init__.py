"""The automatic machine against its members and averages without beliefs, on real tables."""

"""Studies behind single pages of the documentation, each run on its own."""

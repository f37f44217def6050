"""The five papers: the numbers that they print, and one command per table that repeats them."""

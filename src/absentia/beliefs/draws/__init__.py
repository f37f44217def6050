"""Points that rows could be: quasi-random, random, and a few for one column."""

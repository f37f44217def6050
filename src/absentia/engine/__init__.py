"""The hot loops, compiled: small factorisations, many at once, in the lanes of the vector unit."""

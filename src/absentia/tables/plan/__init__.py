"""How the columns of a frame are used: planned at fit, applied at predict."""

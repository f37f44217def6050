"""How a Gram matrix is computed: in which order, in which regions, tile by tile."""

"""Mixed tables: how well missing cells are filled in, and what a mixed density is worth."""

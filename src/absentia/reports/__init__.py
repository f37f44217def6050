"""What people look at: descriptions of missingness, tests, plots."""

"""Reports for people: missingness, Little's test, pages and plots."""

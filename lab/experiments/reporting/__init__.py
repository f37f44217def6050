"""Reports on results: tables, pictures and tests of significance."""

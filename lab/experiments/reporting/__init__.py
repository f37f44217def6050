"""What results say: tables, pictures, tests of significance, a verdict."""

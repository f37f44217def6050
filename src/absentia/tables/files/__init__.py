"""Tables in files, and files that are written whole."""

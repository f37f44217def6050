"""Rivals that fill the holes before anything learns."""

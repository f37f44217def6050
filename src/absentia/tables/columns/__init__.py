"""Columns of frames: guesses of what they hold, and their readings as numbers."""

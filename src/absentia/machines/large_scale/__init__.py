"""Machines whose cost is linear in the number of rows."""

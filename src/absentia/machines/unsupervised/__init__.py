"""Clusters, components, spread labels, and the kernel as a transformer."""

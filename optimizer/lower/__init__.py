"""A solution to the physical graph."""

"""The physical graph: all of a plan that the runtime knows."""

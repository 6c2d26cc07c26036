"""A physical graph as the runtime looks things up in it."""

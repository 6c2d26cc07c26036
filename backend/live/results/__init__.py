"""A query's results as Redis keeps them."""

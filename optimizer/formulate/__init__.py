"""Queries to the combinatorial problem."""

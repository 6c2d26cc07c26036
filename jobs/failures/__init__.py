"""Failures of tuples and tasks, and the search for the tuples that fail."""

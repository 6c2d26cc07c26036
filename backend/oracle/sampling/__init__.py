"""Samples by key hash of windows that are too large to be read at once."""

"""Queries with immutable versions, and what the editor asks about SQL."""

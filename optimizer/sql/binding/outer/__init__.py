"""Outer, semi and anti joins: branches, subqueries, and waits for what is absent."""

"""Immutable Arrow runs and the partitions that they make up."""

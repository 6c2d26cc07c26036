"""Slow and plain counterparts of the optimizer, for tests and benchmarks to compare with."""

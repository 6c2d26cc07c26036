"""Tests of queries by fixtures, answered by DuckDB and by the runtime."""

"""Random typed expressions, compared with DuckDB and with themselves, bit by bit."""

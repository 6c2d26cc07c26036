"""Sinks of results against what they write to: a PostgreSQL server, an Iceberg catalog."""

"""Streams, queries, windows and views, and the catalog that names them."""

"""Directories of streams and queries: imported, planned and applied as a whole."""

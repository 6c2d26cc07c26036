"""Preload worker processes' modules, once, in the server they are forked from."""

from contextlib import suppress

import redis.client

import backend.catalog.parsing
import backend.catalog.preview
import backend.planning.drafting

# DuckDB and pyarrow import it with their first table if it is there, which takes a second.
with suppress(ImportError):
    import pandas

__all__ = ["backend", "pandas", "redis"]

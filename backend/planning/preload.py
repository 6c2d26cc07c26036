"""Preload worker processes' modules, once, in the server they are forked from."""

from contextlib import suppress

import redis.client

import backend.catalog.parsing
import backend.catalog.preview
import backend.planning.drafting
from optimizer.logical.source import CONNECTORS, settings_of

# DuckDB and pyarrow import it with their first table if it is there, which takes a second.
with suppress(ImportError):
    import pandas

# A plan's graph imports them when the first is made, which takes longer than the plan.
for connector in CONNECTORS:
    settings_of(connector)

__all__ = ["backend", "pandas", "redis"]

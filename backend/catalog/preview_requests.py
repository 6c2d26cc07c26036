"""Previews that people ask for: in their turn, in a process of their own."""

from __future__ import annotations

from django.conf import settings

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog import preview
from backend.catalog.preview import Bounds, Preview
from backend.errors import Unavailable
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query


def previewed(caller: Caller, query: Query, catalog: Catalog, limit: int) -> Preview:
    """See `preview`; refused as `backend.bounded` refuses."""
    if not settings.REDIS_URL:
        raise Unavailable("redis-unavailable", "REDIS_URL is not set")
    bounds = Bounds(settings.REDIS_URL, preview.MOST_TUPLES, preview.DUCKDB_SECONDS, preview.DUCKDB_MEMORY)
    return pool.plan(caller, preview.preview, query, catalog, limit, bounds)

"""A text whose plan is a tree of binary joins, converted to multi-way joins; nothing is saved."""

from __future__ import annotations

from backend.catalog.language import refuse_too_long
from backend.catalog.models import Query
from backend.streams.queries import load_catalog
from optimizer.conversion import ConvertedQuery, convert, document


def converted(text: str, name: str) -> ConvertedQuery:
    """The plans before and after over the registry's streams; other queries may be read by name.

    Args:
        name: of the query that is converted, which does not read itself; also what errors call it.

    Raises:
        optimizer.errors.InputError: the text has no meaning here.
    """
    refuse_too_long(text, name)
    saved = Query.objects.exclude(name=name).exclude(current=None).select_related("current")
    views = {query.name: query.current.sql for query in saved.order_by("name") if query.current is not None}
    return document(name, convert(text, load_catalog(), views, name))

"""Who made a query, which may belong to another account by now."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from backend.catalog.models import Query, QueryVersion


def maker_of(query: Query) -> User:
    """The account that wrote the query's first version."""
    first = QueryVersion.objects.select_related("created_by").filter(query=query).order_by("number").first()
    return query.owner if first is None else first.created_by


def queries_of(account_id: int) -> QuerySet[Query]:
    """The queries that the account made."""
    return Query.objects.filter(versions__number=1, versions__created_by=account_id)
